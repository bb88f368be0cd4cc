// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "arch/topology.hpp"
#include "tools/perf/report.hpp"

namespace tobi_perf {

namespace {

// MPI's processes must be started by its own launcher. Debian names both libraries' launchers apart.
std::string mpi_launcher(const arguments& a) {
  const char* chosen = std::getenv("TOBI_MPI");
  const bool mpich = chosen != nullptr && std::string_view(chosen) == "mpich";
  const std::string named = mpich ? "mpiexec.mpich" : "mpirun.openmpi";
  const bool there = std::system(("command -v " + named + " >/dev/null 2>&1").c_str()) == 0;
  return fmt::format("{} {}-n {} ", there ? named : "mpirun", mpich ? "" : "--oversubscribe ",
                     a.workers == 0 ? processes_of(a) : a.workers);
}

constexpr std::array deques{"steal_word", "the"};

// For the shell.
std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

int cores_here() { return static_cast<int>(tobi::arch::this_machine().cores.size()); }

}  // namespace

std::string command_of(const part& p, const std::string& settings, const std::string& flags) {
  const arguments& a = p.of;
  std::string c =
      fmt::format("exec env {}TOBI_TRANSPORT={} {}{}/proc/{}/exe --child {}{} --transport {} --warmup {}", settings,
                  p.transport, p.deque.empty() ? "" : "TOBI_DEQUE=" + p.deque + " ",
                  p.transport == "mpi" ? mpi_launcher(a) : "", getpid(), flags, a.op, p.transport, a.warmup);
  if (a.iterations != 0) c += fmt::format(" --iters {}", a.iterations);
  if (a.duration_s > 0) c += fmt::format(" --duration {}", a.duration_s);
  if (a.workers != 0) c += fmt::format(" --workers {}", a.workers);
  if (a.responder_idle) c += " --responder-idle";
  if (a.pairs != 1) c += fmt::format(" --pairs {}", a.pairs);
  if (a.with == crowd::incast) c += fmt::format(" --incast {}", a.ranks);
  if (a.with == crowd::all_to_all) c += fmt::format(" --all-to-all {}", a.ranks);
  if (a.both_ways) c += " --bidirectional";
  if (a.raw) c += a.best ? " --raw=best" : " --raw";
  if (a.sheet) c += " --sheet";
  if (a.windows != std::vector<std::uint64_t>{0}) c += fmt::format(" --window {}", fmt::join(a.windows, ","));
  if (!a.loads.empty()) c += fmt::format(" --load {}", fmt::join(a.loads, ","));
  if (!a.cpus.empty()) c += fmt::format(" --cpus {}", fmt::join(a.cpus, ","));
  if (a.histogram) c += " --histogram";
  if (!a.samples.empty()) c += " --samples " + quoted(a.samples);
  // Only what differs from the default is named: some operations take no size.
  const std::string sizes = fmt::format("{}", fmt::join(a.sizes, ","));
  return has_sizes(a.op) ? c + " --size " + sizes : c;
}

// Ranks that share cores would say how the kernel shares these.
std::string on_this_machine::why_not(int processes) const {
  if (processes <= 2 || processes <= cores_here()) return "";
  return fmt::format("{} processes need {} cores, and here are {}", processes, processes, cores_here());
}
int on_this_machine::most() const { return std::max(cores_here(), 2); }
std::string on_this_machine::begin(const part& p) { return command_of(p, ""); }

int gather(starter& where, const part& p, gathered& into) {
  const arguments& a = p.of;
  std::vector<row>& rows = into.rows;
  const std::size_t before = rows.size();
  FILE* out = popen(where.begin(p).c_str(), "r");
  if (out == nullptr) return 1;
  char* text = nullptr;
  std::size_t room = 0;
  for (ssize_t n = 0; (n = getline(&text, &room, out)) >= 0;) {
    std::string line(text, static_cast<std::size_t>(n));
    while (!line.empty() && line.back() == '\n') line.pop_back();
    row r;
    if (line.starts_with("# ")) {
      into.notes.push_back(line.substr(2));
      print_note(a, into.notes.back());
    } else if (from_line(line, r)) {
      if (a.json || !a.sheet) print_row(a, r);
      rows.push_back(r);
    } else {
      fmt::print(stderr, "{}\n", line);
    }
  }
  std::free(text);
  const int ended = pclose(out);
  where.end();
  int status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
  if (status != 0 && status != 2) {
    fmt::print(stderr, "tobi-perf: the measurement of {} on {} failed with status {}.\n", a.op, p.transport, status);
  }
  const auto is_missing = [](const row& r) { return !r.ns; };
  if (status == 0 && std::any_of(rows.begin() + static_cast<std::ptrdiff_t>(before), rows.end(), is_missing))
    status = 1;
  return status;
}

int gather_deques(starter& where, const part& p, gathered& into) {
  int worst = 0;
  for (const char* deque : deques) worst = std::max(worst, gather(where, {p.of, p.transport, deque}, into));
  return worst;
}

}  // namespace tobi_perf
