// The plot of latency against size, made of the parts of tools/plot.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "libcore/base/settings.hpp"
#include "tools/perf/report.hpp"
#include "tools/plot/svg.hpp"

namespace tobi_perf {

using tobi_plot::colours;
using tobi_plot::rule;
using tobi_plot::words;

namespace {

constexpr double width = 800, height = 520, left = 90, right = 210, top = 50, bottom = 70;

struct point {
  double x, y;  // bytes, microseconds
};
using lines = std::map<std::string, std::vector<point>>;

// A logarithmic axis whose ends are powers of BASE around the values.
struct axis {
  double base;
  int low = 0, high = 1;

  axis(double b, double smallest, double largest) : base(b) {
    const double unit = std::log(base);
    low = static_cast<int>(std::floor(std::log(smallest) / unit + 1e-9));
    high = std::max(low + 1, static_cast<int>(std::ceil(std::log(largest) / unit - 1e-9)));
  }
  [[nodiscard]] double share(double value) const { return (std::log(value) / std::log(base) - low) / (high - low); }
};

double x_of(const axis& a, double bytes) { return left + a.share(bytes) * (width - left - right); }
double y_of(const axis& a, double us) { return height - bottom - a.share(us) * (height - top - bottom); }

std::string axes(const axis& across, const axis& up) {
  std::string out;
  const int every = std::max(1, (across.high - across.low + 11) / 12);  // sizes: so that the labels do not touch
  for (int e = across.low; e <= across.high; e += every) {
    const double bytes = std::pow(across.base, e);
    const double x = x_of(across, bytes);
    out += rule(x, top, x, height - bottom, "#dddddd", 1);
    out += words(x, height - bottom + 20, "middle", tobi::base::format_size(static_cast<std::uint64_t>(bytes)));
  }
  for (int e = up.low; e <= up.high; ++e) {
    const double us = std::pow(up.base, e);
    const double y = y_of(up, us);
    out += rule(left, y, width - right, y, "#dddddd", 1);
    out += words(left - 8, y + 4, "end", fmt::format("{:g}", us));
    for (int tenth = 2; tenth <= 9 && e < up.high; ++tenth) {
      out += rule(left, y_of(up, us * tenth), left + 5, y_of(up, us * tenth), "#888888", 1);
    }
  }
  out += rule(left, top, left, height - bottom, "#444444", 1.5);
  out += rule(left, height - bottom, width - right, height - bottom, "#444444", 1.5);
  out += words((left + width - right) / 2, height - 20, "middle", "bytes");
  const double middle = (top + height - bottom) / 2;
  out += words(24, middle, "middle", "median latency in microseconds",
               fmt::format(" transform=\"rotate(-90 24 {:.1f})\"", middle));
  return out;
}

std::string curve(const std::vector<point>& points, const axis& across, const axis& up, const char* colour, bool raw) {
  std::string path;
  std::string dots;
  for (const point& p : points) {
    path += fmt::format("{:.1f},{:.1f} ", x_of(across, p.x), y_of(up, p.y));
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", x_of(across, p.x),
                        y_of(up, p.y), colour);
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path, colour,
                     raw ? " stroke-dasharray=\"6 4\"" : "") +
         dots;
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
  std::string body = words(left, 30, "start", title, " font-size=\"17\"");
  if (found.empty()) {
    body += words(width / 2, height / 2, "middle", "nothing was measured");
  } else {
    const axis across(2, smallest, largest);
    const axis up(10, least, most);
    body += axes(across, up);
    std::size_t n = 0;
    for (auto& [name, points] : found) {
      std::sort(points.begin(), points.end(), [](const point& a, const point& b) { return a.x < b.x; });
      const char* colour = colours[n % colours.size()];
      const bool raw = name.ends_with(" raw");
      body += curve(points, across, up, colour, raw);
      const double y = top + 12 + 22 * static_cast<double>(n);
      body += fmt::format("<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{1}\" stroke=\"{3}\" stroke-width=\"2\"{4}/>\n",
                          width - right + 20, y, width - right + 50, colour, raw ? " stroke-dasharray=\"6 4\"" : "");
      body += words(width - right + 58, y + 4, "start", name);
      ++n;
    }
  }
  return tobi_plot::write_file(file, tobi_plot::document(width, height, body));
}

}  // namespace tobi_perf
