// SPDX-License-Identifier: Apache-2.0
// The plot of latency against size, made of the parts of tools/plot.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "libcore/base/settings.hpp"
#include "tools/perf/report.hpp"
#include "tools/plot/chart.hpp"
#include "tools/plot/svg.hpp"

namespace tobi_perf {

using tobi_plot::axis;
using tobi_plot::colours;
using tobi_plot::point;
using tobi_plot::rule;
using tobi_plot::words;

namespace {

constexpr tobi_plot::field field{.width = 800, .height = 520, .left = 90, .right = 210, .top = 50, .bottom = 70};

using lines = std::map<std::string, std::vector<point>>;  // bytes, microseconds

std::string axes(const axis& across, const axis& up) {
  std::string out;
  const int every = std::max(1, (across.high() - across.low() + 11) / 12);  // sizes: so that the labels do not touch
  for (int e = across.low(); e <= across.high(); e += every) {
    const double bytes = across.power(e);
    const double x = field.x(across.share(bytes));
    out += rule(x, field.top, x, field.floor(), "#dddddd", 1);
    out += words(x, field.floor() + 20, "middle", tobi::base::format_size(static_cast<std::uint64_t>(bytes)));
  }
  for (int e = up.low(); e <= up.high(); ++e) {
    const double us = up.power(e);
    const double y = field.y(up.share(us));
    out += rule(field.left, y, field.end(), y, "#dddddd", 1);
    out += words(field.left - 8, y + 4, "end", fmt::format("{:g}", us));
    for (int tenth = 2; tenth <= 9 && e < up.high(); ++tenth) {
      const double between = field.y(up.share(us * tenth));
      out += rule(field.left, between, field.left + 5, between, "#888888", 1);
    }
  }
  out += rule(field.left, field.top, field.left, field.floor(), tobi_plot::axis_colour, 1.5);
  return out + field.across("bytes", field.height - 20) + field.upwards(24, "median latency in microseconds");
}

std::string curve(const std::vector<point>& points, const axis& across, const axis& up, const char* colour,
                  const std::string& stroke) {
  std::vector<point> path;
  std::string dots;
  for (const point& p : points) {
    path.push_back({field.x(across.share(p.x)), field.y(up.share(p.y))});
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", path.back().x, path.back().y,
                        colour);
  }
  return tobi_plot::polyline(path, colour, 2, stroke) + dots;
}

}  // namespace

bool write_plot(const std::string& file, const std::string& title, const std::vector<row>& rows) {
  lines found;
  double least = 0, most = 0, smallest = 0, largest = 0;
  std::vector<std::string> ops;
  for (const row& r : rows) {
    if (std::find(ops.begin(), ops.end(), r.op) == ops.end()) ops.push_back(r.op);
  }
  for (const row& r : rows) {
    if (!r.ns || !r.size || r.ns->median <= 0) continue;
    const point p{static_cast<double>(*r.size), r.ns->median / 1000};
    const bool first = found.empty();
    smallest = first ? p.x : std::min(smallest, p.x);
    largest = first ? p.x : std::max(largest, p.x);
    least = first ? p.y : std::min(least, p.y);
    most = first ? p.y : std::max(most, p.y);
    found[r.transport + (ops.size() > 1 ? " " + r.op : "") + (r.raw ? " raw" : "")].push_back(p);
  }
  std::string body = field.title(title, 30, 17);
  if (found.empty()) {
    body += field.nothing("nothing was measured");
  } else {
    const axis across = axis::logarithmic(2, smallest, largest);
    const axis up = axis::logarithmic(10, least, most);
    body += axes(across, up);
    std::size_t n = 0;
    for (auto& [name, points] : found) {
      std::sort(points.begin(), points.end(), [](const point& a, const point& b) { return a.x < b.x; });
      const char* colour = colours[n % colours.size()];
      const char* stroke = name.ends_with(" raw") ? " stroke-dasharray=\"6 4\"" : "";
      body += curve(points, across, up, colour, stroke);
      const double y = field.top + 12 + 22 * static_cast<double>(n);
      body += fmt::format("<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{1}\" stroke=\"{3}\" stroke-width=\"2\"{4}/>\n",
                          field.end() + 20, y, field.end() + 50, colour, stroke);
      body += words(field.end() + 58, y + 4, "start", name);
      ++n;
    }
  }
  return tobi_plot::write_file(file, tobi_plot::document(field.width, field.height, body));
}

}  // namespace tobi_perf
