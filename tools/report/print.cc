// SPDX-License-Identifier: Apache-2.0
#include "tools/report/print.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tobi_report {

namespace {

constexpr std::size_t most_rows = 16;

// Eight heights of a block, for a curve in one line.
std::string sparkline(const std::vector<double>& values, double most) {
  constexpr std::array<const char*, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t columns = 80;
  std::string out;
  for (std::size_t c = 0; c < columns; ++c) {
    double sum = 0;
    const std::size_t from = c * values.size() / columns;
    const std::size_t to = std::max(from + 1, (c + 1) * values.size() / columns);
    for (std::size_t i = from; i < to; ++i) sum += values[i];
    const double share = most <= 0 ? 0 : sum / static_cast<double>(to - from) / most;
    out += blocks[static_cast<std::size_t>(std::clamp(share * 8 + 0.5, 0.0, 8.0))];
  }
  return out;
}

void print_matrix(const activity& a) {
  std::vector<std::pair<std::pair<int, int>, pair_count>> pairs(a.matrix.begin(), a.matrix.end());
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& x, const auto& y) { return x.second.ok > y.second.ok; });
  fmt::print("  {:>8}{:>8}{:>12}{:>14}{:>14}\n", "thief", "victim", "steals", "failed", "bytes");
  for (std::size_t i = 0; i < std::min(most_rows, pairs.size()); ++i) {
    const auto& [who, c] = pairs[i];
    fmt::print("  {:>8}{:>8}{:>12}{:>14}{:>14}\n", who.first, who.second, c.ok, c.failed, c.bytes);
  }
  if (pairs.size() > most_rows) fmt::print("  and {} pairs more\n", pairs.size() - most_rows);
}

}  // namespace

void print_trace(const traced& both) {
  const auto& [t, a] = both;
  fmt::print("{}: {} worker{} ({}, {}, {}), {:.6f} s of runs\n", t.file, t.ranks.size(), t.ranks.size() == 1 ? "" : "s",
             t.transport, t.sched, t.deque, static_cast<double>(a.span.end - a.span.begin) / 1e9);
  if (t.lost() != 0) {
    fmt::print("  {} of the oldest events were lost: raise TOBI_TRACE_SIZE to see the beginning\n", t.lost());
  }
  print_where(t, a.where);
  fmt::print("  busy workers   |{}| {:.1f} %\n", sparkline(a.busy, static_cast<double>(t.ranks.size())),
             a.mean_utilisation() * 100);
  const double most_ready = a.ready.empty() ? 0 : *std::max_element(a.ready.begin(), a.ready.end());
  fmt::print("  ready joins    |{}| at most {:.3g}\n", sparkline(a.ready, most_ready), most_ready);
  fmt::print("  joins that waited and went on {}, after {:.2f} us on average\n", a.joins, a.join_ns / 1000);
  fmt::print("  steals {}, failed {}, latency {:.2f} us, {:.0f} bytes on average\n", a.steals_ok, a.steals_failed,
             a.steal_ns / 1000,
             a.steals_ok == 0 ? 0.0 : static_cast<double>(a.stolen_bytes) / static_cast<double>(a.steals_ok));
  std::uint64_t contexts = 0;
  for (const rank_facts& r : t.ranks) contexts += r.contexts_stolen;
  if (contexts != 0) fmt::print("  ready tasks stolen {}\n", contexts);
  for (const phase_sum& p : t.phases) {
    fmt::print("    {:<16}{:>10.3f} us in {} of them\n", p.name, p.ns / static_cast<double>(p.steals) / 1000, p.steals);
  }
  if (!a.matrix.empty()) print_matrix(a);
  fmt::print("  {:>8}{:>12}{:>12}{:>12}\n", "worker", "in tasks", "events", "clock +-us");
  for (std::size_t r = 0; r < std::min(most_rows, t.ranks.size()); ++r) {
    fmt::print("  {:>8}{:>10.1f} %{:>12}{:>12.3f}\n", r, a.utilisation[r] * 100, t.ranks[r].events,
               static_cast<double>(t.ranks[r].clock_error_ns) / 1000);
  }
  if (t.ranks.size() > most_rows) fmt::print("  and {} workers more\n", t.ranks.size() - most_rows);
}

void print_results(const std::vector<line>& lines) {
  bool first = true;
  for (const line& l : lines) {
    if (!l.contains("app") || !l.contains("seconds") || !l.at("seconds").is_number()) continue;
    if (l.at("app") == "ramp") continue;  // which has a table of its own
    if (std::exchange(first, false))
      fmt::print("{:<34}{:>6}{:>12}{:>10}{:>12}  {}\n", "run", "runs", "seconds", "steals", "steal us", "on");
    const auto stat = [&](const char* name, double times) {
      const line::json_pointer at(std::string("/stats/") + name);
      return l.contains(at) && l.at(at).is_number() ? fmt::format("{:.4g}", l.at(at).get<double>() * times)
                                                    : std::string("-");
    };
    fmt::print("{:<34}{:>6}{:>12.5f}{:>10}{:>12}  {}\n", title_of(l), l.at("runs").dump(),
               l.at("seconds").get<double>(), stat("steals_ok", 1), stat("steal_latency_ns", 1e-3), setting_of(l));
  }
}

void print_operations(const std::vector<line>& lines) {
  bool first = true;
  for (const line& l : lines) {
    if (!l.contains("op")) continue;
    const auto seconds = time_of(l);
    if (!seconds) continue;
    if (std::exchange(first, false)) {
      fmt::print("{:<50}{:>8}{:>12}{:>12}{:>12}\n", "operation", "repeats", "us", "least", "most");
    }
    fmt::print("{:<50}{:>8}{:>12.4g}{:>12.4g}{:>12.4g}\n", row_of(l), l.at("runs").dump(), *seconds * 1e6,
               l.at("seconds_min").get<double>() * 1e6, l.at("seconds_max").get<double>() * 1e6);
  }
}

void print_comparisons(const std::vector<comparison>& all) {
  for (const comparison& c : all) {
    fmt::print("{}, {}: {}\n", c.source, c.where, c.what);
    const auto rows = [](const char* whose, const std::vector<compared_row>& of) {
      for (const compared_row& r : of) {
        std::string values;
        for (const value& v : r.values) values += fmt::format("{}{} {}", values.empty() ? "" : ", ", v.text, v.name);
        fmt::print("  {:<6} {}: {}\n", whose, r.label, values);
      }
    };
    rows("paper", c.paper);
    rows("ours", c.ours);
    for (const chart& one : c.curves) {
      fmt::print("  {}: {} by {}\n", one.title, one.up.name, one.across.name);
      const auto points = [](const char* whose, const std::vector<tobi_plot::series>& side) {
        for (const tobi_plot::series& s : side) {
          std::string text;
          for (const tobi_plot::point& p : s.points) text += fmt::format(" {:.4g}:{:.4g}", p.x, p.y);
          fmt::print("    {:<6} {}:{}\n", whose, s.name, text);
        }
      };
      points("paper", one.theirs);
      points("ours", one.ours);
    }
    if (c.from.empty()) fmt::print("  ours   not measured\n");
  }
}

}  // namespace tobi_report
