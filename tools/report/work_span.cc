// SPDX-License-Identifier: Apache-2.0
#include "tools/report/work_span.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "tools/report/trace.hpp"

namespace tobi_report {

namespace {

constexpr double second = 1e9;

// Between two costs of a steal that were measured the curve lies below the chord; so the chord is a bound, too.
double burdened_s(const line& measured, double steal_ns) {
  double low = 0;
  double low_s = measured.at("span_ns").get<double>() / second;
  for (const line& one : measured.at("burdened")) {
    const auto high = one.at("steal_ns").get<double>();
    const double high_s = one.at("span_ns").get<double>() / second;
    if (high <= low) throw bad_input("the costs of a steal are not in order");
    if (steal_ns <= high) return low_s + (high_s - low_s) * (steal_ns - low) / (high - low);
    low = high;
    low_s = high_s;
  }
  throw bad_input(fmt::format("--steal is at most {:g} us: for more the burdened span was not measured", low / 1000));
}

work_span read_one(const line& l) {
  work_span w;
  w.work_s = l.at("work_ns").get<double>() / second;
  w.span_s = std::min(l.at("span_ns").get<double>() / second, w.work_s);
  w.burdened_s = w.span_s;
  w.forks = l.at("forks").get<double>();
  w.forks_on_span = l.at("forks_on_span").get<double>();
  return w;
}

// Where the program alone was faster on one worker, each fork is taken to have cost the same too much.
double take_off(work_span& w, const std::vector<bounds>& measured) {
  const auto alone = std::find_if(measured.begin(), measured.end(), [](const bounds& b) { return b.workers == 1; });
  if (alone == measured.end() || w.forks == 0 || *alone->measured >= w.work_s) return 0;
  const double too_much = w.work_s - *alone->measured;
  const double on_span = std::min(too_much / w.forks * w.forks_on_span, w.span_s);
  w.work_s -= too_much;
  w.span_s -= on_span;
  w.burdened_s -= on_span;
  return too_much;
}

bounds bounds_with(const work_span& w, unsigned workers) {
  const double share = w.work_s / workers;
  return {workers, std::max(share, w.span_s), share + w.burdened_s * (1 - 1.0 / workers), {}};
}

// Doublings, as long as more workers help, and the numbers that were measured.
std::vector<bounds> rows_of(const work_span& w, const std::vector<bounds>& measured) {
  constexpr unsigned most = 1u << 20;
  std::vector<unsigned> workers;
  for (unsigned p = 1; p < most && (p <= 8 || p / 2 < w.parallelism()); p *= 2) workers.push_back(p);
  for (const bounds& m : measured) workers.push_back(m.workers);
  std::sort(workers.begin(), workers.end());
  workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
  std::vector<bounds> rows;
  for (const unsigned p : workers) {
    rows.push_back(bounds_with(w, p));
    for (const bounds& m : measured) {
      if (m.workers == p) rows.back().measured = m.measured;
    }
  }
  return rows;
}

}  // namespace

prediction predict(const line& measured, const span_question& asked) {
  prediction p;
  p.all = read_one(measured);
  p.all.burdened_s = burdened_s(measured, asked.steal_ns);
  p.too_much_s = take_off(p.all, asked.measured);
  for (const line& run : measured.at("each")) p.runs.push_back(read_one(run));
  p.number_of_runs = measured.at("runs").get<double>();
  if (p.number_of_runs == 0) throw bad_input("the program made no run (tobi::run), so there is nothing to predict");
  if (p.all.work_s <= 0 || p.all.span_s <= 0) {
    throw bad_input("the program's work or span is shorter than what measuring it takes; give it more to do");
  }
  p.outside_s = measured.at("outside_ns").get<double>() / second;
  p.taken_off_s = measured.at("taken_off_ns").get<double>() / second;
  p.interruptions = measured.at("interruptions").get<double>();
  p.steal_ns = asked.steal_ns;
  p.rows = rows_of(p.all, asked.measured);
  return p;
}

bounds parse_measured(const std::string& text) {
  bounds b;
  double seconds = 0;
  const std::size_t equals = text.find('=');
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  if (equals != std::string::npos) {
    const auto [workers_end, bad_workers] = std::from_chars(begin, begin + equals, b.workers);
    const auto [seconds_end, bad_seconds] = std::from_chars(begin + equals + 1, end, seconds);
    const bool whole = workers_end == begin + equals && seconds_end == end;
    if (whole && bad_workers == std::errc{} && bad_seconds == std::errc{} && b.workers > 0 && seconds > 0 &&
        std::isfinite(seconds)) {
      b.measured = seconds;
      return b;
    }
  }
  throw bad_input("--measured " + text + " is not WORKERS=SECONDS, such as 4=0.31");
}

double parse_duration_ns(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 3> units{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}}};
  double value = 0;
  const auto [at, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(at, static_cast<std::size_t>(text.data() + text.size() - at));
  for (const auto& [name, ns] : units) {
    if (bad == std::errc{} && unit == name && value >= 0 && std::isfinite(value)) return value * ns;
  }
  throw bad_input("--steal " + text + " is not a time, such as 500ns or 2us");
}

}  // namespace tobi_report
