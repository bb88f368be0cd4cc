// SPDX-License-Identifier: Apache-2.0
// What is said of a program's work and span, on the terminal and on the page.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/plot/lines.hpp"
#include "tools/plot/svg.hpp"
#include "tools/report/work_span.hpp"

namespace tobi_report {

namespace {

constexpr std::size_t most_runs_shown = 10;
// Below this a tenth of what is measured, or more, is the measurement.
constexpr double short_task_s = 500e-9;

std::string duration_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} us", seconds * 1e6);
}

double per_task(const work_span& w) { return w.work_s / (w.forks + 1); }

std::string what_follows(const prediction& p) {
  const double parallelism = p.all.parallelism();
  const double burdened = p.all.work_s / std::max(p.all.burdened_s, p.all.span_s);
  std::string text = fmt::format("More than {:.0f} workers are no use", std::ceil(parallelism));
  // With a tenth of that, the second term of the upper bound is a tenth of the first.
  const double good = std::floor(burdened / 10);
  text += good >= 2 ? fmt::format("; up to {:.0f} take at most 10 % more than work / workers.", good) : ".";
  if (parallelism > 2 * burdened) {
    text += fmt::format(" Steals at {} would make the longest path {:.1f} times as long: make tasks larger.",
                        duration_text(p.steal_ns / 1e9), p.all.burdened_s / p.all.span_s);
  }
  return text;
}

std::vector<std::string> warnings(const prediction& p) {
  std::vector<std::string> all;
  if (p.too_much_s > 0) {
    all.push_back(
        fmt::format("The work was measured as {} more than one worker takes, {} per fork, which is taken off.",
                    duration_text(p.too_much_s), duration_text(p.too_much_s / p.all.forks)));
  } else if (per_task(p.all) < short_task_s && !p.rows.front().measured) {
    all.push_back(
        fmt::format("A task takes {}, so the cost of measuring may be a good part of that. Give the time that "
                    "one worker takes: --measured 1=SECONDS.",
                    duration_text(per_task(p.all))));
  }
  if (p.interruptions > 1) {
    all.push_back(
        fmt::format("Other processes took the worker's core {:.0f} times. That time is taken off, but not what they "
                    "did to the caches: measure again where nothing else runs.",
                    p.interruptions));
  }
  return all;
}

std::string measured_text(const bounds& b) { return b.measured ? fmt::format("{:.6f}", *b.measured) : ""; }

}  // namespace

void print_prediction(const std::string& file, const prediction& p) {
  fmt::print("{}: {:.0f} run{}, {:.0f} forks\n", file, p.number_of_runs, p.number_of_runs == 1 ? "" : "s", p.all.forks);
  fmt::print("  {:<16}{:>14}  all that is done; {} per task\n", "work", duration_text(p.all.work_s),
             duration_text(per_task(p.all)));
  fmt::print("  {:<16}{:>14}  the longest path, with {:.0f} forks on it\n", "span", duration_text(p.all.span_s),
             p.all.forks_on_span);
  fmt::print("  {:<16}{:>14.1f}  work / span\n", "parallelism", p.all.parallelism());
  fmt::print("  {:<16}{:>14}  the longest path where each fork and join costs a steal of {}\n", "burdened span",
             duration_text(p.all.burdened_s), duration_text(p.steal_ns / 1e9));
  fmt::print("  {:<16}{:>14}  before, between and behind the runs, whatever the number of workers\n", "outside",
             duration_text(p.outside_s));
  fmt::print("  {:>8}{:>14}{:>14}{:>10}{:>10}{:>14}\n", "workers", "s, at least", "s, at most", "speedup", "to",
             "s, measured");
  for (const bounds& b : p.rows) {
    fmt::print("  {:>8}{:>14.6f}{:>14.6f}{:>10.2f}{:>10.2f}{:>14}\n", b.workers, b.at_least, b.at_most,
               p.all.work_s / b.at_most, p.all.work_s / b.at_least, measured_text(b));
  }
  fmt::print("  {}\n", what_follows(p));
  for (const std::string& w : warnings(p)) fmt::print("  {}\n", w);
  if (p.runs.size() < 2) return;
  std::vector<std::size_t> longest(p.runs.size());
  for (std::size_t i = 0; i < longest.size(); ++i) longest[i] = i;
  std::stable_sort(longest.begin(), longest.end(),
                   [&](std::size_t a, std::size_t b) { return p.runs[a].span_s > p.runs[b].span_s; });
  fmt::print("  {:>8}{:>14}{:>14}{:>14}  (those with the longest spans)\n", "run", "work", "span", "parallelism");
  for (std::size_t i = 0; i < std::min(most_runs_shown, longest.size()); ++i) {
    const work_span& w = p.runs[longest[i]];
    fmt::print("  {:>8}{:>14}{:>14}{:>14.1f}\n", longest[i] + 1, duration_text(w.work_s), duration_text(w.span_s),
               w.parallelism());
  }
}

std::string prediction_of(const std::string& file, const prediction& p) {
  using tobi_plot::escaped;
  const double work = p.all.work_s;
  tobi_plot::series most{"at most", {}, nullptr, true};
  tobi_plot::series least{"at least", {}, nullptr, true};
  tobi_plot::series measured{"measured", {}};
  for (const bounds& b : p.rows) {
    const double x = b.workers;
    most.points.push_back({x, work / b.at_least});
    least.points.push_back({x, work / b.at_most});
    if (b.measured) measured.points.push_back({x, work / *b.measured});
  }
  constexpr tobi_plot::field room{.width = 1000, .height = 440, .left = 90, .right = 200, .top = 50, .bottom = 70};
  std::vector<tobi_plot::series> all{most, least};
  if (!measured.points.empty()) all.push_back(measured);
  std::string out =
      tobi_plot::document(room.width, room.height,
                          tobi_plot::lines(room, "speedup, bounds from one run on one worker", {"workers", 2, nullptr},
                                           {"work / time", 2, nullptr}, all, "nothing was measured"));
  out += fmt::format("<p>{}: work {}, span {}, parallelism {:.1f}; burdened span {} where a steal costs {}. {}</p>\n",
                     escaped(file), duration_text(work), duration_text(p.all.span_s), p.all.parallelism(),
                     duration_text(p.all.burdened_s), duration_text(p.steal_ns / 1e9), what_follows(p));
  for (const std::string& w : warnings(p)) out += "<p>" + escaped(w) + "</p>\n";
  out += "<table><tr><th>workers</th><th>s, at least</th><th>s, at most</th><th>s, measured</th></tr>\n";
  for (const bounds& b : p.rows) {
    out += fmt::format(
        "<tr><td class=\"n\">{}</td><td class=\"n\">{:.6f}</td><td class=\"n\">{:.6f}</td><td "
        "class=\"n\">{}</td></tr>\n",
        b.workers, b.at_least, b.at_most, measured_text(b));
  }
  return out + "</table>\n";
}

line to_json(const prediction& p) {
  line rows = line::array();
  for (const bounds& b : p.rows) {
    line row{{"workers", b.workers}, {"at_least_s", b.at_least}, {"at_most_s", b.at_most}};
    row["measured_s"] = b.measured ? line(*b.measured) : line(nullptr);
    rows.push_back(row);
  }
  return {{"kind", "work_span_prediction"},
          {"work_s", p.all.work_s},
          {"span_s", p.all.span_s},
          {"burdened_span_s", p.all.burdened_s},
          {"steal_ns", p.steal_ns},
          {"parallelism", p.all.parallelism()},
          {"forks", p.all.forks},
          {"interruptions", p.interruptions},
          {"rows", rows}};
}

}  // namespace tobi_report
