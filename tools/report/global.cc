// SPDX-License-Identifier: Apache-2.0
// What the time of workers goes to in programs on global memory: figure 9 of the SC 2023 paper, a bar per run.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/plot/svg.hpp"
#include "tools/report/print.hpp"

namespace tobi_report {

namespace {

const line::json_pointer phases_at("/stats/global/phases_s");

// The order of the bar, the names in JSON and those for people. Others is grey and last.
const std::vector<std::pair<const char*, const char*>> parts{
    {"serial", "serial parts"}, {"get", "get"},         {"checkout", "checkout"},         {"checkin", "checkin"},
    {"release", "release"},     {"acquire", "acquire"}, {"lazy_release", "lazy release"}, {"others", "others"}};

const char* colour_of(std::size_t part) noexcept {
  return part < tobi_plot::colours.size() ? tobi_plot::colours[part] : "#bbbbbb";
}

double seconds_of(const line& l, const char* part) {
  const line& all = l.at(phases_at);
  return all.contains(part) && all.at(part).is_number() ? std::max(0.0, all.at(part).get<double>()) : 0.0;
}

double total_of(const line& l) {
  double sum = 0;
  for (const auto& [key, name] : parts) sum += seconds_of(l, key);
  return sum;
}

}  // namespace

std::string bars_of(const std::vector<line>& runs) {
  constexpr double left = 20, wide = 1000, high = 22, step = 52, top = 50;
  double longest = 0;
  for (const line& l : runs) longest = std::max(longest, total_of(l));
  std::string body;
  double x = left;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    body += tobi_plot::box(x, 10, 12, 12, colour_of(i));
    body += tobi_plot::words(x + 16, 20, "start", parts[i].second);
    x += 36 + 7.5 * static_cast<double>(std::string_view(parts[i].second).size());
  }
  double y = top;
  for (const line& l : runs) {
    body += tobi_plot::words(left, y, "start",
                             fmt::format("{}: {}, {:.4g} s of all workers", title_of(l), setting_of(l), total_of(l)));
    x = left;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double seconds = seconds_of(l, parts[i].first);
      const double length = longest == 0 ? 0 : seconds / longest * wide;
      body +=
          tobi_plot::box(x, y + 6, length, high, colour_of(i), fmt::format("{} {:.4g} s", parts[i].second, seconds));
      x += length;
    }
    y += step;
  }
  return tobi_plot::document(left * 2 + wide, y, body);
}

std::string global_memory_of(const std::vector<line>& lines) {
  std::vector<line> with_times;
  std::string table =
      "<table><tr><th>what</th><th>on</th><th>checkouts</th><th>hit rate</th><th>fetched, bytes</th><th>copied from "
      "neighbours, bytes</th>"
      "<th>written back, bytes</th><th>evictions</th><th>remaps</th></tr>\n";
  bool any = false;
  for (const line& l : lines) {
    if (!l.contains(line::json_pointer("/stats/global/checkouts"))) continue;
    any = true;
    const line& g = l.at("stats").at("global");
    table +=
        fmt::format("<tr><td>{}</td><td>{}</td>", tobi_plot::escaped(title_of(l)), tobi_plot::escaped(setting_of(l)));
    for (const char* name :
         {"checkouts", "hit_rate", "fetched_bytes", "copied_bytes", "written_bytes", "evictions", "remaps"}) {
      const line value = g.value(name, line());
      table +=
          fmt::format("<td class=\"n\">{}</td>", value.is_number_float() ? fmt::format("{:.4f}", value.get<double>())
                                                                         : tobi_plot::escaped(value.dump()));
    }
    table += "</tr>\n";
    if (l.contains(phases_at) && l.at(phases_at).is_object()) with_times.push_back(l);
  }
  if (!any) return "";
  return table + "</table>\n" + (with_times.empty() ? "" : bars_of(with_times));
}

}  // namespace tobi_report
