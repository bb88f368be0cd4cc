// SPDX-License-Identifier: Apache-2.0
#include "tools/report/activity.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <unordered_map>

namespace tobi_report {

namespace {

constexpr std::size_t bins = 400;

// Adds an interval's share of each bin that it touches.
void spread(std::vector<double>& sums, const interval& span, double bin_ns, interval i) {
  i.begin = std::max(i.begin, span.begin);
  i.end = std::min(i.end, span.end);
  if (i.end <= i.begin) return;
  const double from = static_cast<double>(i.begin - span.begin) / bin_ns;
  const double to = static_cast<double>(i.end - span.begin) / bin_ns;
  const auto first = static_cast<std::size_t>(from);
  for (std::size_t b = first; b < sums.size() && static_cast<double>(b) < to; ++b) {
    sums[b] += std::min(to, static_cast<double>(b + 1)) - std::max(from, static_cast<double>(b));
  }
}

interval span_of(const trace& t) {
  interval span;
  bool any = false;
  for (const auto& runs : t.runs) {
    for (const interval& i : runs) {
      span = any ? interval{std::min(span.begin, i.begin), std::max(span.end, i.end)} : i;
      any = true;
    }
  }
  return span;
}

void follow_joins(const trace& t, activity& a) {
  std::unordered_map<std::uint64_t, ns> ready;  // a location is used again, but by one join at a time
  double waited = 0;
  for (const join_event& j : t.joins) {
    if (!j.resumed) {
      ready[j.join] = j.at;
    } else if (const auto at = ready.find(j.join); at != ready.end()) {
      waited += static_cast<double>(j.at - at->second);
      ++a.joins;
      spread(a.ready, a.span, a.bin_ns, {at->second, j.at});
      ready.erase(at);
    }
  }
  a.join_ns = a.joins == 0 ? 0 : waited / static_cast<double>(a.joins);
}

void follow_steals(const trace& t, activity& a) {
  double time = 0;
  for (const steal& s : t.steals) {
    pair_count& c = a.matrix[{s.thief, s.victim}];
    if (!s.ok) {
      c.failed += s.attempts;
      a.steals_failed += s.attempts;
      continue;
    }
    ++c.ok;
    c.bytes += s.bytes;
    ++a.steals_ok;
    a.stolen_bytes += s.bytes;
    const auto took = static_cast<std::uint64_t>(s.end - s.begin);
    time += static_cast<double>(took);
    const auto power = static_cast<std::size_t>(took == 0 ? 0 : std::bit_width(took) - 1);
    if (a.latency.size() <= power) a.latency.resize(power + 1);
    ++a.latency[power];
  }
  a.steal_ns = a.steals_ok == 0 ? 0 : time / static_cast<double>(a.steals_ok);
}

}  // namespace

double activity::mean_utilisation() const {
  if (utilisation.empty()) return 0;
  return std::accumulate(utilisation.begin(), utilisation.end(), 0.0) / static_cast<double>(utilisation.size());
}

activity analyse(const trace& t) {
  activity a;
  a.span = span_of(t);
  a.bin_ns = std::max(1.0, static_cast<double>(a.span.end - a.span.begin) / static_cast<double>(bins));
  a.busy.assign(bins, 0);
  a.ready.assign(bins, 0);
  for (std::size_t r = 0; r < t.ranks.size(); ++r) {
    double busy = 0;
    double all = 0;
    for (const interval& i : t.tasks[r]) {
      busy += static_cast<double>(i.end - i.begin);
      spread(a.busy, a.span, a.bin_ns, i);
    }
    for (const interval& i : t.runs[r]) all += static_cast<double>(i.end - i.begin);
    a.utilisation.push_back(all == 0 ? 0 : std::min(1.0, busy / all));
  }
  follow_joins(t, a);
  follow_steals(t, a);
  a.where = divide_time(t, a.span);
  return a;
}

nlohmann::ordered_json to_json(const trace& t, const activity& a) {
  std::uint64_t ok = 0, failed = 0, contexts = 0, outstanding = 0, published = 0, events = 0, error = 0, waits = 0;
  double waited = 0;
  std::int64_t offset = 0;
  int nodes = 0;
  for (const rank_facts& r : t.ranks) {
    ok += r.steals_ok;
    failed += r.steals_failed;
    contexts += r.contexts_stolen;
    outstanding += r.outstanding_joins;
    published += r.published;
    events += r.events;
    waits += r.waits;
    waited += r.waited_ns;
    error = std::max(error, r.clock_error_ns);
    if (std::abs(r.clock_offset_ns) > std::abs(offset)) offset = r.clock_offset_ns;
    nodes = std::max(nodes, r.node + 1);
  }
  nlohmann::ordered_json phases = nlohmann::ordered_json::object();
  for (const phase_sum& p : t.phases) phases[p.name] = p.ns / static_cast<double>(std::max<std::uint64_t>(1, p.steals));
  nlohmann::ordered_json matrix = nlohmann::ordered_json::array();
  for (const auto& [who, c] : a.matrix) {
    matrix.push_back(
        {{"thief", who.first}, {"victim", who.second}, {"ok", c.ok}, {"failed", c.failed}, {"bytes", c.bytes}});
  }
  nlohmann::ordered_json all = {{"kind", "trace"},
                                {"name", std::filesystem::path(t.file).stem().string()},
                                {"workers", t.ranks.size()},
                                {"nodes", nodes},
                                {"transport", t.transport},
                                {"sched", t.sched},
                                {"deque", t.deque},
                                {"seconds", static_cast<double>(a.span.end - a.span.begin) / 1e9},
                                {"events", events},
                                {"lost", t.lost()},
                                {"clock_offset_ns", offset},
                                {"clock_error_ns", error},
                                {"steals_ok", ok},
                                {"steals_failed", failed},
                                {"contexts_stolen", contexts},
                                {"outstanding_joins", outstanding},
                                {"published", published},
                                {"waits", waits},
                                {"waited_ns", waited},
                                {"joins_resumed", a.joins},
                                {"outstanding_join_ns", a.join_ns},
                                {"steal_latency_ns", a.steal_ns},
                                {"stolen_bytes", a.stolen_bytes},
                                {"mean_utilisation", a.mean_utilisation()},
                                {"utilisation", a.utilisation},
                                {"steal_phases_ns", phases},
                                {"steal_latency_powers_of_two", a.latency},
                                {"steals", matrix}};
  all.update(to_json(t, a.where));
  return all;
}

}  // namespace tobi_report
