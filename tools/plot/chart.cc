// SPDX-License-Identifier: Apache-2.0
#include "tools/plot/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/plot/svg.hpp"

namespace tobi_plot {

axis axis::logarithmic(double base, double smallest, double largest) {
  const double unit = std::log(base);
  const double low = std::floor(std::log(smallest) / unit + 1e-9);
  return {base, low, std::max(low + 1, std::ceil(std::log(largest) / unit - 1e-9))};
}

double axis::share(double value) const {
  const double at = base_ == 0 ? value : std::log(value) / std::log(base_);
  return (at - low_) / (high_ - low_);
}

double axis::power(int exponent) const { return std::pow(base_, exponent); }

double round_up(double x) {
  if (x <= 1) return 1;
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (const double step : {1.0, 2.0, 5.0, 10.0}) {
    if (x <= step * power * (1 + 1e-9)) return step * power;
  }
  return 10 * power;
}

std::string field::title(const std::string& text, double y, int size) const {
  return words(left, y, "start", text, fmt::format(" font-size=\"{}\"", size));
}

std::string field::across(const std::string& name, double y) const {
  return rule(left, floor(), end(), floor(), axis_colour, 1.5) + words(x(0.5), y, "middle", name);
}

std::string field::upwards(double x, const std::string& name, const char* colour) const {
  const std::string fill = colour == nullptr ? "" : fmt::format(" fill=\"{}\"", colour);
  return words(x, y(0.5), "middle", name, fmt::format("{} transform=\"rotate(-90 {} {:.1f})\"", fill, x, y(0.5)));
}

std::string field::scale(bool at_left, double most, const std::string& name, const char* colour) const {
  const axis up = axis::linear(most);
  const double at = at_left ? left : end();
  std::string out = rule(at, top, at, floor(), colour, 1.5);
  for (int i = 0; i <= 4; ++i) {
    const double value = most * i / 4;
    out +=
        words(at + (at_left ? -6 : 6), y(up.share(value)) + 4, at_left ? "end" : "start", fmt::format("{:.4g}", value));
  }
  return out + upwards(at_left ? 20 : width - 16, name, colour);
}

std::string field::nothing(const std::string& why) const { return words(width / 2, height / 2, "middle", why); }

std::string polyline(const std::vector<point>& through, const char* colour, double thick, const std::string& more) {
  std::string path;
  for (const point& p : through) path += fmt::format("{:.2f},{:.2f} ", p.x, p.y);
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n", path, colour,
                     thick, more);
}

}  // namespace tobi_plot
