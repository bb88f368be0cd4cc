// SPDX-License-Identifier: Apache-2.0
// The parts of which a cost sheet is made: two ranks, then several, then a runtime that steals.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "tools/perf/items.hpp"
#include "tools/perf/parts.hpp"
#include "tools/perf/report.hpp"
#include "tools/perf/sheet.hpp"

namespace tobi_perf {

namespace {

// What is measured of more than two ranks, where MOST can be.
std::vector<arguments> crowds_of(const arguments& of_sheet, int most) {
  std::vector<arguments> all;
  const auto add = [&](const char* op, crowd with, int ranks, std::uint64_t bytes) {
    arguments one = of_sheet;
    one.op = op;
    one.with = with;
    one.ranks = ranks;
    one.sizes = {bytes};
    all.push_back(one);
  };
  int working = 2;
  add("amo-faa", crowd::incast, working, 8);
  while (working < 8 && 2 * working < most) add("amo-faa", crowd::incast, working *= 2, 8);
  add("rate", crowd::incast, working, 8);
  add("bw", crowd::all_to_all, std::clamp(most, 3, 8), 64u << 10);
  return all;
}

int gather_crowd(starter& where, const arguments& a, const std::string& transport, gathered& into) {
  const std::string why = where.why_not(processes_of(a));
  if (why.empty()) return gather(where, {a, transport}, into);
  for (const item& i : items_of(a)) {
    into.rows.push_back({i.op, transport, i.todo.bytes, calls::transport, 0, 1, {}, {}, why});
    into.rows.back().ranks = a.ranks;
    if (a.json) print_row(a, into.rows.back());
  }
  return 1;
}

// One after the other. Returns the exit status.
int gather_sheet(starter& where, const arguments& a, const std::string& transport, gathered& into) {
  arguments one = a;
  one.sheet = true;
  int worst = gather(where, {one, transport}, into);
  if (row_of(into.rows, sheet_op) != nullptr) return worst;  // it cannot be used here
  one.windows = {0};
  for (const arguments& several : crowds_of(one, where.most()))
    worst = std::max(worst, gather_crowd(where, several, transport, into));
  one.op = "steal";
  one.cpus.clear();
  if (one.iterations == 0) one.duration_s = std::max(one.duration_s, 1.0);
  return std::max(worst, gather_deques(where, {one, transport}, into));
}

}  // namespace

bool can_write_page(const arguments& a) { return a.html.empty() || std::ofstream(a.html); }

int keep_sheets(const arguments& a, const std::vector<sheet>& sheets, int status) {
  if (a.html.empty() || write_sheets(a.html, a.provenance, sheets)) return status;
  fmt::print(stderr, "tobi-perf: the page could not be written to {}; is the file system full?\n", a.html);
  return 1;
}

int run_sheets(starter& where, const arguments& a) {
  print_heading(a);
  std::vector<sheet> sheets;
  int worst = 0;
  for (const std::string& transport : a.transports) {
    gathered found;
    worst = std::max(worst, gather_sheet(where, a, transport, found));
    sheets.push_back(make_sheet(transport, std::move(found.rows), std::move(found.notes)));
    print_sheet(a, sheets.back());
  }
  return keep_sheets(a, sheets, worst);
}

}  // namespace tobi_perf
