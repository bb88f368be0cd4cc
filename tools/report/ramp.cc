// SPDX-License-Identifier: Apache-2.0
// Time in leaves of coarse programs (tobi-bench ramp): a row per setting, a column per shape, the first run of a
// job and the median of the further ones.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tools/plot/svg.hpp"
#include "tools/report/print.hpp"

namespace tobi_report {

namespace {

constexpr std::array shapes{"tree",  "parallel_for", "parallel_invoke", "finish",         "promises",
                            "burst", "pair",         "collection",      "collection_even"};

struct row {
  std::string setting;
  std::array<std::string, shapes.size()> cells;
};

double number_in(const line& l, const char* name) {
  const auto at = l.find(name);
  return at != l.end() && at->is_number() ? at->get<double>() : 0;
}

std::string text_in(const line& l, const char* name) {
  const auto at = l.find(name);
  return at == l.end() ? "" : at->is_string() ? at->get<std::string>() : at->dump();
}

std::vector<row> rows_of(const std::vector<line>& lines) {
  std::vector<row> rows;
  for (const line& l : lines) {
    const auto params = l.find("params");
    if (text_in(l, "app") != "ramp" || params == l.end() || !params->is_object()) continue;
    const auto column = std::find(shapes.begin(), shapes.end(), text_in(*params, "shape"));
    if (column == shapes.end()) continue;
    // Those of two leaves stand next to the others of their job.
    const bool pair = text_in(*params, "shape") == "pair" || text_in(*params, "shape") == "burst";
    std::string how = text_in(*params, "sleep");
    how = how.empty() ? "busy " + text_in(*params, "busy") : "sleep " + how;
    const auto same = [&](const row& r) {
      return r.setting.starts_with(setting_of(l) + "; ") && r.setting.ends_with(", " + how);
    };
    const std::string setting = fmt::format("{}; {} leaves, {}", setting_of(l), text_in(*params, "leaves"), how);
    auto at =
        std::find_if(rows.begin(), rows.end(), [&](const row& r) { return pair ? same(r) : r.setting == setting; });
    if (at == rows.end()) at = rows.insert(rows.end(), row{setting, {}});
    at->cells[static_cast<std::size_t>(column - shapes.begin())] =
        l.contains("not_run") ? "not run" : fmt::format("{:.2f} {:.2f}", number_in(l, "first"), number_in(l, "median"));
  }
  return rows;
}

}  // namespace

std::string ramp_of(const std::vector<line>& lines) {
  const std::vector<row> rows = rows_of(lines);
  if (rows.empty()) return "";
  std::string out =
      "<p>Time in leaves, of the first run of a job and the median of the further ones; ideal are leaves / workers, "
      "rounded up. burst and pair have two leaves.</p>\n<table><tr><th>on</th>";
  for (const char* shape : shapes) out += fmt::format("<th>{}</th>", shape);
  out += "</tr>\n";
  for (const row& r : rows) {
    out += "<tr><td>" + tobi_plot::escaped(r.setting) + "</td>";
    for (const std::string& cell : r.cells) out += "<td class=\"n\">" + tobi_plot::escaped(cell) + "</td>";
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

void print_ramp(const std::vector<line>& lines) {
  const std::vector<row> rows = rows_of(lines);
  if (rows.empty()) return;
  fmt::print("time in leaves, first run and median of the further ones\n{:<16}", "shape");
  for (const char* shape : shapes) fmt::print("{:>16}", shape);
  fmt::print("\n");
  for (const row& r : rows) {
    fmt::print("{}\n{:<16}", r.setting, "");
    for (const std::string& cell : r.cells) fmt::print("{:>16}", cell.empty() ? "-" : cell);
    fmt::print("\n");
  }
}

}  // namespace tobi_report
