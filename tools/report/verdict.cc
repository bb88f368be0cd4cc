// SPDX-License-Identifier: Apache-2.0
#include "tools/report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "tools/report/trace.hpp"
#include "tools/samples.hpp"

namespace tobi_report {

namespace {

// On each side of the interval.
constexpr double may_be_wrong = 0.0005;

// How many quotients are left out at each end: the largest K for which fewer than K pairs are out of order with
// probability may_be_wrong at most, where nothing but chance orders the times. ways[i][u]: of so many of A among those
// seen so far, in how many orders u pairs have the one of A behind the one of B.
std::size_t left_out(std::size_t n, std::size_t m) {
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(n * m + 1, 0));
  ways[0][0] = 1;
  std::vector<std::vector<double>> next = ways;
  // The smallest n + m times are taken one by one; of which file each is has the probability that urns have.
  for (std::size_t seen = 0; seen < n + m; ++seen) {
    for (auto& row : next) std::fill(row.begin(), row.end(), 0);
    for (std::size_t of_a = 0; of_a <= std::min(n, seen); ++of_a) {
      const std::size_t of_b = seen - of_a;
      if (of_b > m) continue;
      const auto left = static_cast<double>(n + m - seen);
      const double is_a = static_cast<double>(n - of_a) / left;
      for (std::size_t u = 0; u <= n * m; ++u) {
        const double p = ways[of_a][u];
        if (p == 0) continue;
        if (of_a < n) next[of_a + 1][u + of_b] += p * is_a;
        if (of_b < m) next[of_a][u] += p * (1 - is_a);
      }
    }
    std::swap(ways, next);
  }
  double sum = 0;
  std::size_t k = 0;
  for (; k <= n * m; ++k) {
    sum += ways[n][k];
    if (sum > may_be_wrong) break;
  }
  return k;
}

struct measured_row {
  std::string key;
  std::string title;
  std::vector<double> times;
};

std::vector<measured_row> rows_in(const std::string& file, std::vector<line>& lines) {
  read_results(file, lines);
  std::vector<measured_row> rows;
  for (const line& l : lines) {
    const std::string key = key_of(l);
    if (key.empty()) continue;
    auto at = std::find_if(rows.begin(), rows.end(), [&](const measured_row& r) { return r.key == key; });
    if (at == rows.end()) {
      at = rows.insert(rows.end(), {key, row_of(l), {}});
    }
    if (const auto seconds = time_of(l)) at->times.push_back(*seconds);
    if (at->times.size() > most_repeats) {
      throw bad_input(
          fmt::format("{}: {} was measured more than {} times; fewer will do", file, at->title, most_repeats));
    }
  }
  if (rows.empty()) throw bad_input(file + " has no line of tobi-bench or tobi-perf");
  return rows;
}

verdict judge(const ratio_of_times& r, double margin) {
  if (!r.interval) return verdict::undecided;
  const auto [low, high] = *r.interval;
  // What is apart, but surely by no more than the margin, is the same.
  if (low > 1 / (1 + margin) && high < 1 + margin) return verdict::same;
  return low > 1 ? verdict::worse : high < 1 ? verdict::better : verdict::undecided;
}

std::string_view name_of(verdict v) {
  constexpr std::array<std::string_view, 4> names{"better", "same", "worse", "undecided"};
  return names[static_cast<std::size_t>(v)];
}

}  // namespace

ratio_of_times ratio_between(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all;
  for (const double of_b : b) {
    for (const double of_a : a) all.push_back(of_b / of_a);
  }
  std::sort(all.begin(), all.end());
  ratio_of_times r{tobi_tools::median(all), {}};
  const std::size_t k = left_out(a.size(), b.size());
  if (k > 0) r.interval = {all[k - 1], all[all.size() - k]};
  return r;
}

comparison_of_files compare_files(const std::string& a, const std::string& b, double margin) {
  std::vector<line> lines_a, lines_b;
  const std::vector<measured_row> of_a = rows_in(a, lines_a);
  std::vector<measured_row> of_b = rows_in(b, lines_b);
  comparison_of_files c{{}, {}, differences(lines_a, lines_b), margin};
  for (const measured_row& r : of_a) {
    const auto at = std::find_if(of_b.begin(), of_b.end(), [&](const measured_row& o) { return o.key == r.key; });
    const bool in_b = at != of_b.end() && !at->times.empty();
    if (r.times.empty() || !in_b) {
      const bool in_neither = r.times.empty() && !in_b;
      c.missing.push_back(
          fmt::format("{} was {}", r.title, in_neither ? "measured in neither" : "not measured in " + (in_b ? a : b)));
    } else {
      compared_times row{r.title,
                         r.times.size(),
                         at->times.size(),
                         tobi_tools::median(r.times),
                         tobi_tools::median(at->times),
                         ratio_between(r.times, at->times)};
      row.says = judge(row.found, margin);
      c.rows.push_back(row);
    }
    if (at != of_b.end()) of_b.erase(at);
  }
  for (const measured_row& r : of_b) c.missing.push_back(fmt::format("{} was not measured in {}", r.title, a));
  return c;
}

bool has_failed(const comparison_of_files& c) {
  return !c.missing.empty() || std::any_of(c.rows.begin(), c.rows.end(), [&](const compared_times& r) {
    return !r.found.interval || (r.says == verdict::worse && r.found.ratio > 1 + c.margin);
  });
}

void print_comparison(const comparison_of_files& c) {
  if (!c.apart.empty()) fmt::print("The files differ in more than their times:\n");
  for (const difference& d : c.apart)
    fmt::print("  {}: {} in the first, {} in the second\n", d.what, d.first, d.second);
  std::size_t widest = 3;
  for (const compared_times& r : c.rows) widest = std::max(widest, r.title.size());
  fmt::print("{:<{}}{:>12}{:>12}{:>9}{:>10}{:>10}  {:<10}{}\n", "row", widest, "first, s", "second, s", "ratio",
             "at least", "at most", "verdict", "repeats");
  bool too_few = false;
  for (const compared_times& r : c.rows) {
    const auto bound = [&](double b) { return r.found.interval ? fmt::format("{:.4f}", b) : std::string("-"); };
    const auto [low, high] = r.found.interval.value_or(std::pair{0.0, 0.0});
    fmt::print("{:<{}}{:>12.5g}{:>12.5g}{:>9.4f}{:>10}{:>10}  {:<10}{}, {}\n", r.title, widest, r.median_a, r.median_b,
               r.found.ratio, bound(low), bound(high), name_of(r.says), r.times_a, r.times_b);
    too_few = too_few || !r.found.interval;
  }
  for (const std::string& m : c.missing) fmt::print("{}\n", m);
  if (too_few) {
    fmt::print("With fewer than 7 repeats in each file nothing can be told: measure the two in turn, so often.\n");
  }
}

line to_json(const compared_times& r) {
  line out{{"kind", "compared"},        {"row", r.title},         {"repeats", {r.times_a, r.times_b}},
           {"first_s", r.median_a},     {"second_s", r.median_b}, {"ratio", r.found.ratio},
           {"verdict", name_of(r.says)}};
  out["interval"] = r.found.interval ? line({r.found.interval->first, r.found.interval->second}) : line(nullptr);
  return out;
}

double parse_percent(const std::string& text) {
  double value = 0;
  const auto [at, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(at, static_cast<std::size_t>(text.data() + text.size() - at));
  if (bad != std::errc{} || unit != "%" || !(value >= 0 && value <= 1000)) {
    throw bad_input("--fail-above " + text + " is not a percentage, such as 5%");
  }
  return value / 100;
}

}  // namespace tobi_report
