// SPDX-License-Identifier: Apache-2.0
// The page: one file of HTML with its figures inside.
#include "tools/plot/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tools/plot/svg.hpp"
#include "tools/report/figures.hpp"
#include "tools/report/print.hpp"

namespace tobi_report {

using tobi_plot::escaped;

namespace {

std::string name_of(const traced& t) { return std::filesystem::path(t.read.file).stem().string(); }

std::string rows_of(const char* whose, const std::vector<compared_row>& of, const std::vector<std::string>& columns) {
  std::string out;
  for (const compared_row& r : of) {
    out += fmt::format("<tr class=\"{}\"><td>{}</td><td>{}</td>", whose, whose, escaped(r.label));
    for (const std::string& column : columns) {
      const auto at = std::find_if(r.values.begin(), r.values.end(), [&](const value& v) { return v.name == column; });
      out += fmt::format("<td class=\"n\">{}</td>", at == r.values.end() ? "" : escaped(at->text));
    }
    out += "</tr>\n";
  }
  return out;
}

std::string comparison_of(const comparison& c, const std::vector<traced>& traces, const std::string& measured) {
  std::vector<std::string> columns;
  for (const auto* side : {&c.paper, &c.ours}) {
    for (const compared_row& r : *side) {
      for (const value& v : r.values) {
        if (std::find(columns.begin(), columns.end(), v.name) == columns.end()) columns.push_back(v.name);
      }
    }
  }
  std::string out = fmt::format("<h3>{}, {}</h3>\n<p>{}</p>\n<table><tr><th></th><th></th>", escaped(c.source),
                                escaped(c.where), escaped(c.what));
  for (const std::string& column : columns) out += "<th>" + escaped(column) + "</th>";
  out += "</tr>\n" + rows_of("paper", c.paper, columns) + rows_of("ours", c.ours, columns) + "</table>\n";
  if (c.from.empty()) out += "<p>Not measured in this run.</p>\n";
  for (const chart& one : c.curves) out += drawn(one);
  if (!c.bars.empty()) out += bars_of(c.bars);
  if (!c.from.empty())
    out += "<p><em>Ours:</em> " + escaped(taken(c.from) + (measured.empty() ? "" : " On " + measured + ".")) + "</p>\n";
  if (!c.differs.empty()) out += "<p><em>What differs:</em> " + escaped(c.differs) + "</p>\n";
  for (const auto& wanted : c.figures) {
    for (const traced& t : traces) {
      if (name_of(t) == wanted.trace) out += figure(wanted.figure, t.read, t.seen);
    }
  }
  return out;
}

std::string results_of(const std::vector<line>& lines) {
  std::string out =
      "<table><tr><th>what</th><th>on</th><th>runs</th><th>seconds</th><th>result</th><th>steals</th>"
      "<th>round trips per steal</th><th>stolen / created</th></tr>\n";
  const auto cell = [](const line& l, const char* path) {
    const line::json_pointer at(path);
    if (!l.contains(at) || l.at(at).is_null()) return std::string("<td></td>");
    const line& v = l.at(at);
    return fmt::format("<td class=\"n\">{}</td>",
                       v.is_number_float() ? fmt::format("{:.5g}", v.get<double>()) : escaped(v.dump()));
  };
  bool any = false;
  for (const line& l : lines) {
    if (!l.contains("app") || l.at("app") == "ramp") continue;  // which has a table of its own
    any = true;
    out += fmt::format("<tr><td>{}</td><td>{}</td>", escaped(title_of(l)), escaped(setting_of(l))) + cell(l, "/runs") +
           cell(l, "/seconds") + cell(l, "/result") + cell(l, "/stats/steals_ok") +
           cell(l, "/stats/round_trips_per_steal") + cell(l, "/stats/stolen_per_created") + "</tr>\n";
  }
  return any ? out + "</table>\n" : "";
}

std::string operations_of(const std::vector<line>& lines) {
  std::string out = "<table><tr><th>operation</th><th>median us</th><th>p99 us</th></tr>\n";
  bool any = false;
  for (const line& l : lines) {
    if (!l.contains("op") || !l.contains("median_us") || !l.at("median_us").is_number()) continue;
    any = true;
    const bool known = l.contains("p99_us") && l.at("p99_us").is_number();
    out +=
        fmt::format("<tr><td>{}</td><td class=\"n\">{:.4g}</td><td class=\"n\">{}</td></tr>\n", escaped(title_of(l)),
                    l.at("median_us").get<double>(), known ? fmt::format("{:.4g}", l.at("p99_us").get<double>()) : "-");
  }
  return any ? out + "</table>\n" : "";
}

}  // namespace

std::string page(const std::vector<traced>& traces, const std::vector<line>& results,
                 const std::vector<comparison>& papers, const std::string& work_span) {
  std::string out;
  const std::string where = measured_on(results);
  if (!where.empty()) out += "<p>Measured on " + escaped(where) + ".</p>\n";
  if (!papers.empty()) {
    out += "<h2>Compared with the papers</h2>\n";
    for (const comparison& c : papers) out += comparison_of(c, traces, where);
  }
  if (const std::string runs = results_of(results); !runs.empty()) out += "<h2>Runs</h2>\n" + runs;
  if (const std::string ramp = ramp_of(results); !ramp.empty()) out += "<h2>Coarse tasks</h2>\n" + ramp;
  if (const std::string memory = global_memory_of(results); !memory.empty()) out += "<h2>Global memory</h2>\n" + memory;
  if (const std::string ops = operations_of(results); !ops.empty()) out += "<h2>Operations</h2>\n" + ops;
  if (!work_span.empty()) out += "<h2>Work and span</h2>\n" + work_span;
  for (const traced& t : traces) {
    out += fmt::format("<h2>Trace {}</h2>\n<p>{} workers, {}, {}, {}; {} of the oldest events lost.</p>\n",
                       escaped(t.read.file), t.read.ranks.size(), escaped(t.read.transport), escaped(t.read.sched),
                       escaped(t.read.deque), t.read.lost());
    out += where_of(t.read, t.seen.where);
    for (const std::string_view name : figure_names) out += figure(name, t.read, t.seen);
  }
  return tobi_plot::page("Tobiuo: report", out);
}

}  // namespace tobi_report
