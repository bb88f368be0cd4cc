// SPDX-License-Identifier: Apache-2.0
#include "tools/report/where.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tools/report/limit.hpp"

namespace tobi_report {

namespace {

constexpr std::size_t parts_over_time = 200;
constexpr std::size_t most_runs = 16;  // with more, a run is a step of something, and no phase

constexpr std::array<const char*, doings> names{"computing",         "fetching", "writing_back",
                                                "awaiting_releases", "updating", "other_wait",
                                                "switching",         "stealing", "idle"};
constexpr std::array<const char*, doings> spoken{"computing", "fetching",  "writing",  "releases", "updates",
                                                 "waits",     "switching", "stealing", "idle"};

double length(const interval& i) { return static_cast<double>(std::max<ns>(0, i.end - i.begin)); }

interval common(const interval& a, const interval& b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

struct window {
  interval when;
  std::size_t phase = 0;
};

// The parts of SPAN, in order, and their phases.
std::vector<window> windows_of(const trace& t, const interval& span, std::vector<phase>& phases) {
  std::vector<window> windows;
  if (t.marks.empty()) {
    const std::vector<interval>& runs = t.runs[0];  // each run begins and ends on rank 0
    if (runs.size() < 2 || runs.size() > most_runs) return {};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      phases.push_back({"run " + std::to_string(i + 1), 1, length(runs[i]) / 1e9, {}, 0, 0});
      windows.push_back({runs[i], i});
    }
    std::sort(windows.begin(), windows.end(),
              [](const window& a, const window& b) { return a.when.begin < b.when.begin; });
    return windows;
  }
  std::map<std::string, std::size_t> known;
  const auto begin = [&](const std::string& name, ns at) {
    const auto [where, is_new] = known.emplace(name, phases.size());
    if (is_new) phases.push_back({name.empty() ? "(no name)" : name, 0, 0, {}, 0, 0});
    ++phases[where->second].times;
    windows.push_back({{at, span.end}, where->second});
  };
  // A root begins with its first phase, or does something before.
  if (static_cast<double>(t.marks[0].at - span.begin) > length(span) / 200) begin("(before the first)", span.begin);
  for (const phase_mark& m : t.marks) {
    const ns at = std::clamp(m.at, span.begin, span.end);
    if (!windows.empty()) windows.back().when.end = at;
    begin(m.name, at);
  }
  for (const window& w : windows) phases[w.phase].seconds += length(w.when) / 1e9;
  return windows;
}

// Windows may have gaps between them, and do not overlap.
std::size_t window_at(const std::vector<window>& windows, ns at) {
  const auto behind = std::upper_bound(windows.begin(), windows.end(), at,
                                       [](ns moment, const window& w) { return moment < w.when.begin; });
  return behind == windows.begin() ? 0 : static_cast<std::size_t>(behind - windows.begin()) - 1;
}

void divide_phases(const trace& t, const std::vector<window>& windows, std::vector<phase>& phases) {
  if (windows.empty()) return;
  for (const std::vector<piece>& worker : t.time) {
    for (const piece& p : worker) {
      for (std::size_t w = window_at(windows, p.when.begin); w < windows.size() && windows[w].when.begin < p.when.end;
           ++w) {
        phases[windows[w].phase].time[static_cast<std::size_t>(p.what)] += length(common(windows[w].when, p.when));
      }
    }
  }
  for (const transfer& x : t.transfers) {
    phase& p = phases[windows[window_at(windows, x.at)].phase];
    (x.home ? p.written_bytes : p.fetched_bytes) += x.bytes;
  }
}

void divide_bins(const trace& t, const interval& span, where_time_went& w) {
  if (span.end <= span.begin) return;
  w.over_time.assign(parts_over_time, {});
  const double part = length(span) / static_cast<double>(parts_over_time);
  for (const std::vector<piece>& worker : t.time) {
    for (const piece& p : worker) {
      const interval i = common(p.when, span);
      if (i.end <= i.begin) continue;
      const double from = static_cast<double>(i.begin - span.begin) / part;
      const double to = static_cast<double>(i.end - span.begin) / part;
      for (auto b = static_cast<std::size_t>(from); b < parts_over_time && static_cast<double>(b) < to; ++b) {
        w.over_time[b][static_cast<std::size_t>(p.what)] +=
            (std::min(to, static_cast<double>(b + 1)) - std::max(from, static_cast<double>(b))) /
            static_cast<double>(t.time.size());
      }
    }
  }
}

// The share of SPAN in which at most one worker had a task.
double one_busy(const trace& t, const interval& span) {
  std::vector<std::pair<ns, int>> changes;
  for (const std::vector<interval>& worker : t.tasks) {
    for (const interval& i : worker) {
      changes.emplace_back(std::clamp(i.begin, span.begin, span.end), 1);
      changes.emplace_back(std::clamp(i.end, span.begin, span.end), -1);
    }
  }
  std::sort(changes.begin(), changes.end());
  double few = 0;
  int busy = 0;
  ns at = span.begin;
  for (const auto& [when, change] : changes) {
    if (busy <= 1) few += static_cast<double>(when - at);
    busy += change;
    at = when;
  }
  if (busy <= 1) few += static_cast<double>(span.end - at);
  return span.end <= span.begin ? 0 : few / length(span);
}

}  // namespace

double all_of(const times& t) { return std::accumulate(t.begin(), t.end(), 0.0); }
double share(const times& t, doing what) {
  const double all = all_of(t);
  return all <= 0 ? 0 : t[static_cast<std::size_t>(what)] / all;
}
const char* words_for(doing what) { return spoken[static_cast<std::size_t>(what)]; }
const char* name_for(doing what) { return names[static_cast<std::size_t>(what)]; }

where_time_went divide_time(const trace& t, const interval& span) {
  where_time_went w;
  for (const std::vector<piece>& worker : t.time) {
    times one{};
    for (const piece& p : worker) one[static_cast<std::size_t>(p.what)] += length(p.when);
    for (std::size_t i = 0; i < doings; ++i) w.all[i] += one[i];
    w.workers.push_back(one);
  }
  divide_bins(t, span, w);
  divide_phases(t, windows_of(t, span, w.phases), w.phases);
  w.one_busy = one_busy(t, span);
  find_limit(t, w);
  return w;
}

nlohmann::ordered_json to_json(const trace& t, const where_time_went& w) {
  using json = nlohmann::ordered_json;
  const auto shares = [](const times& of) {
    json all = json::object();
    for (std::size_t i = 0; i < doings; ++i) all[names[i]] = share(of, static_cast<doing>(i));
    return all;
  };
  json phases = json::array();
  for (const phase& p : w.phases) {
    phases.push_back({{"name", p.name},
                      {"times", p.times},
                      {"seconds", p.seconds},
                      {"time_shares", shares(p.time)},
                      {"fetched_bytes", p.fetched_bytes},
                      {"written_bytes", p.written_bytes}});
  }
  json workers = json::array();
  for (std::size_t r = 0; r < w.workers.size(); ++r) {
    workers.push_back({{"rank", r},
                       {"time_shares", shares(w.workers[r])},
                       {"checkouts", t.ranks[r].checkouts},
                       {"hits", t.ranks[r].hits},
                       {"fetched_bytes", t.ranks[r].fetched_bytes},
                       {"written_bytes", t.ranks[r].written_bytes}});
  }
  json sites = json::array();
  for (const fetch_site& s : t.sites) {
    sites.push_back({{"place", s.place}, {"pieces", s.pieces}, {"bytes", s.bytes}, {"waited_ns", s.waited_ns}});
  }
  return {{"time_shares", shares(w.all)},
          {"at_most_one_busy", w.one_busy},
          {"limit", name_for(w.limit)},
          {"sentence", w.sentence},
          {"phases", phases},
          {"by_worker", workers},
          {"fetched_at", sites}};
}

}  // namespace tobi_report
