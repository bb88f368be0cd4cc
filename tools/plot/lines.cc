// SPDX-License-Identifier: Apache-2.0
#include "tools/plot/lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/plot/svg.hpp"

namespace tobi_plot {

namespace {

struct range {
  double least = 0, most = 0;
  bool any = false;
  void take(double value) {
    least = any ? std::min(least, value) : value;
    most = any ? std::max(most, value) : value;
    any = true;
  }
};

axis axis_of(const measure& m, const range& r) {
  if (m.base != 0) return axis::logarithmic(m.base, r.least, r.most);
  if (r.most <= 0) return axis::linear(1);
  const double power = std::pow(10, std::floor(std::log10(r.most)));
  for (const double step : {1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.5}) {
    if (r.most <= step * power * (1 + 1e-9)) return axis::linear(step * power);
  }
  return axis::linear(10 * power);
}

std::string label_of(const measure& m, double value) {
  return m.label != nullptr ? m.label(value) : fmt::format("{:.6g}", value);
}

// The places of an axis that have a number: all powers, or fifths.
std::vector<double> marks_of(const measure& m, const axis& a, int most) {
  std::vector<double> marks;
  if (m.base != 0) {
    const int every = std::max(1, (a.high() - a.low() + most - 1) / most);  // so that the labels do not touch
    for (int e = a.low(); e <= a.high(); e += every) marks.push_back(a.power(e));
  } else {
    for (int i = 0; i <= 5; ++i) marks.push_back(a.most() * i / 5);
  }
  return marks;
}

std::string axes(const field& f, const measure& across, const axis& x_axis, const measure& up, const axis& y_axis) {
  std::string out;
  for (const double value : marks_of(across, x_axis, 12)) {
    const double x = f.x(x_axis.share(value));
    out += rule(x, f.top, x, f.floor(), "#dddddd", 1) + words(x, f.floor() + 20, "middle", label_of(across, value));
  }
  for (const double value : marks_of(up, y_axis, 16)) {
    const double y = f.y(y_axis.share(value));
    out += rule(f.left, y, f.end(), y, "#dddddd", 1) + words(f.left - 8, y + 4, "end", label_of(up, value));
    if (up.base != 10 || value * 2 > y_axis.power(y_axis.high())) continue;
    for (int tenth = 2; tenth <= 9; ++tenth) {
      const double between = f.y(y_axis.share(value * tenth));
      out += rule(f.left, between, f.left + 5, between, "#888888", 1);
    }
  }
  out += rule(f.left, f.top, f.left, f.floor(), axis_colour, 1.5);
  return out + f.across(across.name, f.height - 20) + f.upwards(24, up.name);
}

std::string dot(double x, double y, const char* colour, bool hollow) {
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\" stroke=\"{}\"/>\n", x, y,
                     hollow ? "#ffffff" : colour, colour);
}

std::string curve(const field& f, const series& s, const axis& x_axis, const axis& y_axis, const char* colour,
                  const std::string& stroke) {
  std::vector<point> path;
  std::string dots;
  for (const point& p : s.points) {
    path.push_back({f.x(x_axis.share(p.x)), f.y(y_axis.share(p.y))});
    dots += dot(path.back().x, path.back().y, colour, s.dashed);
  }
  return polyline(path, colour, 2, stroke) + dots;
}

}  // namespace

std::string lines(const field& f, const std::string& title, const measure& across, const measure& up,
                  std::vector<series> all, const std::string& why) {
  range wide, high;
  bool had_points = false;
  for (series& s : all) {
    had_points = had_points || !s.points.empty();
    std::erase_if(s.points,
                  [&](const point& p) { return (across.base != 0 && p.x <= 0) || (up.base != 0 && p.y <= 0); });
    std::sort(s.points.begin(), s.points.end(), [](const point& a, const point& b) { return a.x < b.x; });
    for (const point& p : s.points) {
      wide.take(p.x);
      high.take(p.y);
    }
  }
  std::string out = f.title(title, 30, 17);
  if (!wide.any) return out + f.nothing(had_points ? "all are 0, which a logarithmic scale does not show" : why);
  const axis x_axis = axis_of(across, wide);
  const axis y_axis = axis_of(up, high);
  out += axes(f, across, x_axis, up, y_axis);
  std::size_t named = 0;
  std::size_t coloured = 0;
  for (const series& s : all) {
    if (s.points.empty()) continue;
    const char* colour = s.colour != nullptr ? s.colour : colours[coloured++ % colours.size()];
    const std::string stroke = s.dashed ? " stroke-dasharray=\"6 4\"" : "";
    out += curve(f, s, x_axis, y_axis, colour, stroke);
    const double y = f.top + 12 + 22 * static_cast<double>(named++);
    out += fmt::format("<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{1}\" stroke=\"{3}\" stroke-width=\"2\"{4}/>\n",
                       f.end() + 20, y, f.end() + 50, colour, stroke);
    out += dot(f.end() + 35, y, colour, s.dashed) + words(f.end() + 58, y + 4, "start", s.name);
  }
  return out;
}

}  // namespace tobi_plot
