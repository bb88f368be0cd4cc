// SPDX-License-Identifier: Apache-2.0
// tobi-perf: what an operation costs on each transport. Each transport is measured by a process of its own, one after
// the other, so that none inherits what another opened, started or bound.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "arch/topology.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tcp/meeting.hpp"
#include "tools/output.hpp"
#include "tools/perf/arguments.hpp"
#include "tools/perf/initiator.hpp"
#include "tools/perf/items.hpp"
#include "tools/perf/measure.hpp"
#include "tools/perf/report.hpp"
#include "tools/perf/sheet.hpp"

namespace {

using namespace tobi_perf;

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

std::string command(const arguments& a, const std::string& transport, const std::string& deque) {
  std::string c = fmt::format("exec env TOBI_TRANSPORT={} {}{}/proc/{}/exe --child {} --transport {} --warmup {}",
                              transport, deque.empty() ? "" : "TOBI_DEQUE=" + deque + " ",
                              transport == "mpi" ? mpi_launcher(a) : "", getpid(), a.op, transport, a.warmup);
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

struct gathered {
  std::vector<row> rows;
  std::vector<std::string> notes;
};

// Runs one measurement, and prints and keeps its rows; those of a sheet are printed at its end. Returns the exit
// status.
int gather(const arguments& a, const std::string& transport, const std::string& deque, gathered& into) {
  std::vector<row>& rows = into.rows;
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
  int status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
  if (status != 0 && status != 2) {
    fmt::print(stderr, "tobi-perf: the measurement of {} on {} failed with status {}.\n", a.op, transport, status);
  }
  const auto is_missing = [](const row& r) { return !r.ns; };
  if (status == 0 && std::any_of(rows.begin() + static_cast<std::ptrdiff_t>(before), rows.end(), is_missing))
    status = 1;
  return status;
}

// Of a sheet: what is measured of more than two ranks.
std::vector<arguments> crowds_of(const arguments& of_sheet) {
  const int cores = static_cast<int>(tobi::arch::this_machine().cores.size());
  std::vector<arguments> all;
  const auto add = [&](const char* op, crowd with, int ranks, std::uint64_t bytes) {
    arguments one = of_sheet;
    one.op = op;
    one.with = with;
    one.ranks = ranks;
    one.sizes = {bytes};
    all.push_back(one);
  };
  int most = 2;
  add("amo-faa", crowd::incast, most, 8);
  while (most < 8 && 2 * most < cores) add("amo-faa", crowd::incast, most *= 2, 8);
  add("rate", crowd::incast, most, 8);
  add("bw", crowd::all_to_all, std::clamp(cores, 3, 8), 64u << 10);
  return all;
}

// Ranks that share cores would say how the kernel shares these.
int gather_crowd(const arguments& a, const std::string& transport, gathered& into) {
  const int cores = static_cast<int>(tobi::arch::this_machine().cores.size());
  if (processes_of(a) <= cores) return gather(a, transport, "", into);
  for (const item& i : items_of(a)) {
    into.rows.push_back(
        {i.op,
         transport,
         i.todo.bytes,
         calls::transport,
         0,
         1,
         {},
         {},
         fmt::format("{} processes need {} cores, and here are {}", processes_of(a), processes_of(a), cores)});
    into.rows.back().ranks = a.ranks;
    if (a.json) print_row(a, into.rows.back());
  }
  return 1;
}

// The parts of a sheet are measured one after the other, by processes of their own. Returns the exit status.
int gather_sheet(const arguments& a, const std::string& transport, gathered& into) {
  arguments part = a;
  part.sheet = true;
  int worst = gather(part, transport, "", into);
  if (row_of(into.rows, sheet_op) != nullptr) return worst;  // it cannot be used here
  part.windows = {0};
  for (const arguments& several : crowds_of(part)) worst = std::max(worst, gather_crowd(several, transport, into));
  part.op = "steal";
  part.cpus.clear();
  if (part.iterations == 0) part.duration_s = std::max(part.duration_s, 1.0);
  for (const char* deque : deques) worst = std::max(worst, gather(part, transport, deque, into));
  return worst;
}

int keep(const arguments& a, const std::vector<sheet>& sheets, int status) {
  if (a.html.empty() || write_sheets(a.html, a.provenance, sheets)) return status;
  fmt::print(stderr, "tobi-perf: the page could not be written to {}; is the file system full?\n", a.html);
  return 1;
}

int run_sheet(const arguments& a) {
  if (!a.html.empty() && !std::ofstream(a.html)) refuse("--html: " + a.html + " cannot be written");
  print_heading(a);
  std::vector<sheet> sheets;
  int worst = 0;
  for (const std::string& transport : a.transports) {
    gathered found;
    worst = std::max(worst, gather_sheet(a, transport, found));
    sheets.push_back(make_sheet(transport, std::move(found.rows), std::move(found.notes)));
    print_sheet(a, sheets.back());
  }
  return keep(a, sheets, worst);
}

int run(const arguments& a) {
  if (a.op == sheet_op) return run_sheet(a);
  if (!a.plot.empty() && !std::ofstream(a.plot)) refuse("--plot: " + a.plot + " cannot be written");
  begin_samples(a);
  print_heading(a);
  gathered found;
  int worst = 0;
  for (const std::string& transport : a.transports) {
    if (a.op != "steal") worst = std::max(worst, gather(a, transport, "", found));
    for (const char* deque : deques) {
      if (a.op == "steal") worst = std::max(worst, gather(a, transport, deque, found));
    }
  }
  if (!a.plot.empty() && !write_plot(a.plot, "tobi-perf " + a.op, found.rows)) {
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

// The same of a sheet, which is made when all is measured. Only rank 0 has rows.
gathered of_sheet;
void keep_row(const arguments& a, const row& r) {
  of_sheet.rows.push_back(r);
  if (a.json) print_row_under_heading(a, r);
}
void keep_note(const arguments& a, const std::string& text) {
  of_sheet.notes.push_back(text);
  print_note_under_heading(a, text);
}
int print_launched_sheet(const arguments& a, int status) {
  if (of_sheet.rows.empty()) return status;
  const std::string transport = of_sheet.rows.front().transport;
  if (row_of(of_sheet.rows, sheet_op) == nullptr) {
    const auto missing = [&](const char* op, const char* how) {
      emit({op,
            transport,
            {},
            calls::transport,
            0,
            1,
            {},
            {},
            fmt::format("this job measures pairs; start tobi-perf {} in the same way", how)});
    };
    missing("amo-faa-incast", "amo-faa --incast");
    missing("rate-incast", "rate --incast");
    missing("bw-get-all", "bw --all-to-all");
    missing("steal", "steal");
  }
  const std::vector<sheet> sheets{make_sheet(transport, std::move(of_sheet.rows), std::move(of_sheet.notes))};
  print_sheet(a, sheets.front());
  return keep(a, sheets, status);
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
  const bool sheet = a.op == sheet_op;
  emit_to(a, sheet ? sink{keep_row, keep_note} : sink{print_row_under_heading, print_note_under_heading});
  const int measured = measure(a);
  const int status = sheet ? print_launched_sheet(a, measured) : measured;
  return status == 0 && !all_measured() ? 1 : status;
}
