// SPDX-License-Identifier: Apache-2.0
// tobi-perf: what an operation costs on each transport. Each transport is measured by a process of its own, one after
// the other, so that none inherits what another opened, started or bound.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tcp/meeting.hpp"
#include "tools/output.hpp"
#include "tools/perf/arguments.hpp"
#include "tools/perf/initiator.hpp"
#include "tools/perf/measure.hpp"
#include "tools/perf/parts.hpp"
#include "tools/perf/report.hpp"
#include "tools/perf/sheet.hpp"

namespace {

using namespace tobi_perf;

int run(const arguments& a) {
  on_this_machine here;
  if (!can_write_page(a)) refuse("--html: " + a.html + " cannot be written");
  if (a.op == sheet_op) return run_sheets(here, a);
  if (!a.plot.empty() && !std::ofstream(a.plot)) refuse("--plot: " + a.plot + " cannot be written");
  begin_samples(a);
  print_heading(a);
  gathered found;
  int worst = 0;
  for (const std::string& transport : a.transports) {
    worst = std::max(
        worst, a.op == "steal" ? gather_deques(here, {a, transport}, found) : gather(here, {a, transport}, found));
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

// The same of a sheet that is no job of parts (see agents.hpp), which is made when all is measured. Only rank 0 has
// rows.
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
            fmt::format("the processes of MPI measure pairs; start tobi-perf {} in the same way", how)});
    };
    missing("amo-faa-incast", "amo-faa --incast");
    missing("rate-incast", "rate --incast");
    missing("bw-get-all", "bw --all-to-all");
    missing("steal", "steal");
  }
  const std::vector<sheet> sheets{make_sheet(transport, std::move(of_sheet.rows), std::move(of_sheet.notes))};
  print_sheet(a, sheets.front());
  return keep_sheets(a, sheets, status);
}

}  // namespace

int main(int argc, char** argv) {
  tobi_tools::must_be_written("tobi-perf");
  tobi::bootstrap::before_joining();
  const arguments a = parse(argc, argv);
  if (a.child) {
    tobi::bootstrap::tcp::set_manner({"a part of tobi-perf", a.last_listens, a.place});
    return measure(a);
  }
  if (!tobi::bootstrap::launched()) return run(a);
  // This process is one of several, on hosts of their own perhaps: rank 0 prints.
  tobi::bootstrap::tcp::set_manner({"tobi-perf" + (uses_runtime(a.op) ? " " + a.op : ""), true});
  const bool sheet = a.op == sheet_op;
  emit_to(a, sheet ? sink{keep_row, keep_note} : sink{print_row_under_heading, print_note_under_heading});
  const int measured = measure(a);
  const int status = sheet ? print_launched_sheet(a, measured) : measured;
  return status == 0 && !all_measured() ? 1 : status;
}
