// SPDX-License-Identifier: Apache-2.0
#include "tools/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tools/plot/chart.hpp"
#include "tools/plot/svg.hpp"

namespace tobi_report {

using tobi_plot::box;
using tobi_plot::colours;
using tobi_plot::words;

namespace {

constexpr tobi_plot::field field{.width = 800, .height = 420, .left = 80, .right = 80, .top = 50, .bottom = 60};

std::string time_text(double time_ns) {
  if (time_ns < 1e3) return fmt::format("{:.3g} ns", time_ns);
  if (time_ns < 1e6) return fmt::format("{:.3g} us", time_ns / 1e3);
  return time_ns < 1e9 ? fmt::format("{:.3g} ms", time_ns / 1e6) : fmt::format("{:.4g} s", time_ns / 1e9);
}

std::string name_of(const trace& t) { return std::filesystem::path(t.file).filename().string(); }

std::string frame(const std::string& title, const std::string& across) {
  return field.title(title, 28, 16) + field.across(across, field.height - 14);
}

std::string nothing(const std::string& title, const std::string& why) {
  return field.title(title, 28, 16) + field.nothing(why);
}

std::string activity_figure(const trace& t, const activity& a) {
  const std::string title = fmt::format("busy workers (filled) and joins that could go on (line): {}", name_of(t));
  if (a.span.end <= a.span.begin) return nothing(title, "nothing ran");
  const auto workers = static_cast<double>(t.ranks.size());
  const double most_ready = tobi_plot::round_up(*std::max_element(a.ready.begin(), a.ready.end()));
  const auto bins = static_cast<double>(a.busy.size());
  std::string area = fmt::format("{:.1f},{:.1f} ", field.left, field.floor());
  std::vector<tobi_plot::point> path;
  for (std::size_t b = 0; b < a.busy.size(); ++b) {
    const auto at = static_cast<double>(b);
    const double y = field.y(std::min(1.0, a.busy[b] / workers));
    area += fmt::format("{:.2f},{:.1f} {:.2f},{:.1f} ", field.x(at / bins), y, field.x((at + 1) / bins), y);
    path.push_back({field.x((at + 0.5) / bins), field.y(a.ready[b] / most_ready)});
  }
  area += fmt::format("{:.1f},{:.1f}", field.end(), field.floor());
  const auto span_ns = static_cast<double>(a.span.end - a.span.begin);
  std::string out = frame(title, "time since the first run began");
  out += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.6\"/>\n", area, colours[2]);
  out += tobi_plot::polyline(path, colours[3], 1.5);
  for (int i = 0; i <= 4; ++i) {
    out += words(field.x(i / 4.0), field.floor() + 20, "middle", time_text(span_ns * i / 4));
  }
  return out + field.scale(true, workers, "busy workers", colours[2]) +
         field.scale(false, most_ready, "ready outstanding joins", colours[3]);
}

// The shares of all workers' time, one on top of the other.
std::string time_figure(const trace& t, const activity& a) {
  const std::string title = fmt::format("what the workers did: {}", name_of(t));
  if (a.where.over_time.empty()) return nothing(title, "nothing ran");
  std::string out = frame(title, "time since the first run began");
  const auto parts = static_cast<double>(a.where.over_time.size());
  double legend = field.left;
  std::vector<double> below(a.where.over_time.size());
  for (std::size_t d = 0; d < doings; ++d) {
    const auto what = static_cast<doing>(d);
    if (a.where.all[d] <= 0) continue;
    const char* const colour = what == doing::idle ? "#dddddd" : colours[d % colours.size()];
    std::string under;
    std::string over;
    for (std::size_t b = 0; b < below.size(); ++b) {
      const double x = field.x(static_cast<double>(b) / parts);
      const double end = field.x(static_cast<double>(b + 1) / parts);
      const double low = field.y(std::min(1.0, below[b]));
      below[b] += a.where.over_time[b][d];
      const double high = field.y(std::min(1.0, below[b]));
      over += fmt::format("{:.2f},{:.1f} {:.2f},{:.1f} ", x, high, end, high);
      under.insert(0, fmt::format("{:.2f},{:.1f} {:.2f},{:.1f} ", end, low, x, low));
    }
    out += fmt::format("<polygon points=\"{}{}\" fill=\"{}\"/>\n", over, under, colour);
    out += box(legend, 36, 9, 9, colour) + words(legend + 12, 45, "start", words_for(what));
    legend += 24 + 6.6 * static_cast<double>(std::string_view(words_for(what)).size());
  }
  const auto span_ns = static_cast<double>(a.span.end - a.span.begin);
  for (int i = 0; i <= 4; ++i) {
    out += words(field.x(i / 4.0), field.floor() + 20, "middle", time_text(span_ns * i / 4));
  }
  return out + field.scale(true, 1, "share of the workers' time", tobi_plot::axis_colour);
}

// Darker is more, by the logarithm. Many workers share a cell, so that the picture stays one.
std::string steals_figure(const trace& t, const activity& a) {
  constexpr std::size_t most_cells = 64;
  const std::size_t share = (t.ranks.size() + most_cells - 1) / most_cells;
  const std::size_t cells = (t.ranks.size() + share - 1) / share;
  const std::string title = fmt::format("successful steals, thief by victim: {}", name_of(t));
  if (a.steals_ok == 0) return nothing(title, "no steal succeeded");
  std::vector<pair_count> sums(cells * cells);
  std::uint64_t most = 1;
  for (const auto& [who, c] : a.matrix) {
    pair_count& s =
        sums[static_cast<std::size_t>(who.first) / share * cells + static_cast<std::size_t>(who.second) / share];
    s.ok += c.ok;
    s.bytes += c.bytes;
    most = std::max(most, s.ok);
  }
  const double side = std::min(field.wide(), field.high()) / static_cast<double>(cells);
  std::string out = frame(title, share == 1 ? "victim" : fmt::format("victim ({} workers per cell)", share));
  for (std::size_t thief = 0; thief < cells; ++thief) {
    const double y = field.top + side * static_cast<double>(thief);
    if (cells <= 16 || thief % 8 == 0)
      out += words(field.left - 6, y + side / 2 + 4, "end", std::to_string(thief * share));
    for (std::size_t victim = 0; victim < cells; ++victim) {
      const pair_count& s = sums[thief * cells + victim];
      const double x = field.left + side * static_cast<double>(victim);
      if (thief == 0 && (cells <= 16 || victim % 8 == 0)) {
        out += words(x + side / 2, field.floor() + 18, "middle", std::to_string(victim * share));
      }
      if (s.ok == 0) continue;
      const double depth = std::log1p(static_cast<double>(s.ok)) / std::log1p(static_cast<double>(most));
      const auto light = static_cast<int>(225 - 200 * depth);
      out += box(x, y, side - 0.5, side - 0.5, fmt::format("rgb({},{},255)", light, light),
                 fmt::format("thief {}, victim {}: {} steals, {} bytes", thief * share, victim * share, s.ok, s.bytes));
      if (cells <= 8) {
        out += words(x + side / 2, y + side / 2 + 4, "middle", std::to_string(s.ok),
                     fmt::format(" fill=\"{}\"", depth > 0.5 ? "#ffffff" : "#000000"));
      }
    }
  }
  return out + field.upwards(30, "thief");
}

struct bar {
  std::string label;
  double value;
  std::string title;
};

std::string bars(const std::string& title, const std::string& across, const std::string& up,
                 const std::vector<bar>& all, double most, const char* colour) {
  std::string out = frame(title, across);
  const tobi_plot::axis high = tobi_plot::axis::linear(most);
  const double step = field.wide() / static_cast<double>(all.size());
  const std::size_t every = (all.size() + 11) / 12;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double x = field.left + step * static_cast<double>(i);
    const double y = field.y(std::min(1.0, high.share(all[i].value)));
    out += box(x + step * 0.05, y, step * 0.9, field.floor() - y, colour, all[i].title);
    if (i % every == 0) out += words(x + step / 2, field.floor() + 18, "middle", all[i].label);
  }
  return out + field.scale(true, most, up, tobi_plot::axis_colour);
}

std::string utilisation_figure(const trace& t, const activity& a) {
  constexpr std::size_t most_bars = 256;
  const std::size_t share = (t.ranks.size() + most_bars - 1) / most_bars;
  std::vector<bar> all;
  for (std::size_t r = 0; r < a.utilisation.size(); r += share) {
    const std::size_t end = std::min(r + share, a.utilisation.size());
    double sum = 0;
    for (std::size_t i = r; i < end; ++i) sum += a.utilisation[i];
    const double mean = sum / static_cast<double>(end - r);
    all.push_back({std::to_string(r), mean, fmt::format("worker {}: {:.1f} % of its runs in tasks", r, mean * 100)});
  }
  return bars(fmt::format("share of the runs spent in tasks: {}", name_of(t)),
              share == 1 ? "worker" : fmt::format("worker (means of {})", share), "share", all, 1, colours[0]);
}

std::string latency_figure(const trace& t, const activity& a) {
  const std::string title = fmt::format("latency of {} successful steals: {}", a.steals_ok, name_of(t));
  if (a.steals_ok == 0) return nothing(title, "no steal succeeded");
  std::size_t first = 0;
  while (a.latency[first] == 0) ++first;
  std::vector<bar> all;
  std::uint64_t most = 1;
  for (std::size_t p = first; p < a.latency.size(); ++p) {
    most = std::max(most, a.latency[p]);
    all.push_back({time_text(std::ldexp(1.0, static_cast<int>(p))), static_cast<double>(a.latency[p]),
                   fmt::format("{} steals of {} to {}", a.latency[p], time_text(std::ldexp(1.0, static_cast<int>(p))),
                               time_text(std::ldexp(1.0, static_cast<int>(p) + 1)))});
  }
  return bars(title, "from here to twice that", "steals", all, tobi_plot::round_up(static_cast<double>(most)),
              colours[0]);
}

std::string phases_figure(const trace& t, const activity& a) {
  const std::string title = fmt::format("where the time of a successful steal goes, mean: {}", name_of(t));
  if (a.steals_ok == 0) return nothing(title, "no steal succeeded");
  std::vector<bar> all;
  double rest = a.steal_ns;
  for (const phase_sum& p : t.phases) {
    const double mean = p.ns / static_cast<double>(a.steals_ok);
    rest -= mean;
    all.push_back({p.name, mean / 1000, fmt::format("{}: {}", p.name, time_text(mean))});
  }
  all.push_back({"rest", std::max(0.0, rest) / 1000, fmt::format("rest: {}", time_text(std::max(0.0, rest)))});
  all.push_back({"all", a.steal_ns / 1000, fmt::format("all: {}", time_text(a.steal_ns))});
  const double most = a.steal_ns / 1000;
  return bars(title, "part of the steal", "microseconds", all,
              most < 1 ? std::max(most, 1e-3) : tobi_plot::round_up(most), colours[1]);
}

}  // namespace

std::string figure(std::string_view name, const trace& t, const activity& a) {
  const std::string body = name == "activity"      ? activity_figure(t, a)
                           : name == "time"        ? time_figure(t, a)
                           : name == "steals"      ? steals_figure(t, a)
                           : name == "utilisation" ? utilisation_figure(t, a)
                           : name == "latency"     ? latency_figure(t, a)
                                                   : phases_figure(t, a);
  return tobi_plot::document(field.width, field.height, body);
}

}  // namespace tobi_report
