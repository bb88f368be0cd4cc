// SPDX-License-Identifier: Apache-2.0
// tobi-perf: what an operation costs on each transport. Each transport is measured by a process of its own, one after
// the other, so that none inherits what another opened, started or bound.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tcp/meeting.hpp"
#include "tools/output.hpp"
#include "tools/perf/arguments.hpp"
#include "tools/perf/initiator.hpp"
#include "tools/perf/measure.hpp"
#include "tools/perf/report.hpp"

namespace {

using namespace tobi_perf;

// MPI's processes must be started by its own launcher. Debian names both libraries' launchers apart.
std::string mpi_launcher(const arguments& a) {
  const char* chosen = std::getenv("TOBI_MPI");
  const bool mpich = chosen != nullptr && std::string_view(chosen) == "mpich";
  const std::string named = mpich ? "mpiexec.mpich" : "mpirun.openmpi";
  const bool there = std::system(("command -v " + named + " >/dev/null 2>&1").c_str()) == 0;
  return fmt::format("{} {}-n {} ", there ? named : "mpirun", mpich ? "" : "--oversubscribe ",
                     a.workers == 0 ? 2 : a.workers);
}

// For the shell.
std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

std::string command(const arguments& a, const std::string& transport, const std::string& deque) {
  std::string c = fmt::format("exec env TOBI_TRANSPORT={} {}{}/proc/{}/exe --child {} --transport {} --warmup {}",
                              transport, deque.empty() ? "" : "TOBI_DEQUE=" + deque + " ",
                              transport == "mpi" ? mpi_launcher(a) : "", getpid(), a.op, transport, a.warmup);
  if (a.iterations != 0) c += fmt::format(" --iters {}", a.iterations);
  if (a.duration_s > 0) c += fmt::format(" --duration {}", a.duration_s);
  if (a.workers != 0) c += fmt::format(" --workers {}", a.workers);
  if (a.responder_idle) c += " --responder-idle";
  if (a.pairs != 1) c += fmt::format(" --pairs {}", a.pairs);
  if (a.both_ways) c += " --bidirectional";
  if (a.raw) c += " --raw";
  if (a.windows != std::vector<std::uint64_t>{0}) c += fmt::format(" --window {}", fmt::join(a.windows, ","));
  if (!a.cpus.empty()) c += fmt::format(" --cpus {}", fmt::join(a.cpus, ","));
  if (a.histogram) c += " --histogram";
  if (!a.samples.empty()) c += " --samples " + quoted(a.samples);
  // Only what differs from the default is named: some operations take no size.
  const std::string sizes = fmt::format("{}", fmt::join(a.sizes, ","));
  const bool sized = a.op != "rate" && !a.op.starts_with("amo-") && !uses_runtime(a.op);
  return sized ? c + " --size " + sizes : c;
}

// Runs one measurement, and prints and keeps its rows. Returns the exit status.
int gather(const arguments& a, const std::string& transport, const std::string& deque, std::vector<row>& rows) {
  const std::size_t before = rows.size();
  FILE* out = popen(command(a, transport, deque).c_str(), "r");
  if (out == nullptr) return 1;
  char* text = nullptr;
  std::size_t room = 0;
  for (ssize_t n = 0; (n = getline(&text, &room, out)) >= 0;) {
    std::string line(text, static_cast<std::size_t>(n));
    while (!line.empty() && line.back() == '\n') line.pop_back();
    row r;
    if (line.starts_with("# ")) {
      print_note(a, line.substr(2));
    } else if (from_line(line, r)) {
      print_row(a, r);
      rows.push_back(r);
    } else {
      fmt::print(stderr, "{}\n", line);
    }
  }
  std::free(text);
  const int ended = pclose(out);
  int status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
  if (status != 0 && status != 2) {
    fmt::print(stderr, "tobi-perf: the measurement of {} on {} failed with status {}.\n", a.op, transport, status);
  }
  const auto is_missing = [](const row& r) { return !r.ns; };
  if (status == 0 && std::any_of(rows.begin() + static_cast<std::ptrdiff_t>(before), rows.end(), is_missing))
    status = 1;
  return status;
}

int run(const arguments& a) {
  if (!a.plot.empty() && !std::ofstream(a.plot)) refuse("--plot: " + a.plot + " cannot be written");
  begin_samples(a);
  print_heading(a);
  std::vector<row> rows;
  int worst = 0;
  const std::vector<const char*> deques = a.op == "steal" ? std::vector{"steal_word", "the"} : std::vector{""};
  for (const std::string& transport : a.transports) {
    for (const char* deque : deques) {
      worst = std::max(worst, gather(a, transport, deque, rows));
    }
  }
  if (!a.plot.empty() && !write_plot(a.plot, "tobi-perf " + a.op, rows)) {
    fmt::print(stderr, "tobi-perf: the plot could not be written to {}; is the file system full?\n", a.plot);
    return 1;
  }
  return worst;
}

int measure(const arguments& a) { return uses_runtime(a.op) ? measure_runtime(a) : measure_operations(a); }

// Of two processes that a launcher started, or that met, each prints what it emits.
void print_first_heading(const arguments& a) {
  static bool headed = false;
  if (!std::exchange(headed, true)) print_heading(a);
}
void print_row_under_heading(const arguments& a, const row& r) {
  print_first_heading(a);
  print_row(a, r);
}
void print_note_under_heading(const arguments& a, const std::string& text) {
  print_first_heading(a);
  print_note(a, text);
}

}  // namespace

int main(int argc, char** argv) {
  tobi_tools::must_be_written("tobi-perf");
  tobi::bootstrap::before_joining();
  const arguments a = parse(argc, argv);
  if (a.child) return measure(a);
  if (!tobi::bootstrap::launched()) return run(a);
  // This process is one of two, on hosts of their own: rank 0 prints.
  tobi::bootstrap::tcp::set_manner({"tobi-perf" + (uses_runtime(a.op) ? " " + a.op : ""), true});
  emit_to(a, {print_row_under_heading, print_note_under_heading});
  const int status = measure(a);
  return status == 0 && !all_measured() ? 1 : status;
}
