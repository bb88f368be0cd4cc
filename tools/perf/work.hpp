// SPDX-License-Identifier: Apache-2.0
// The words of a measurement: what is done over and over, and what came out of it as one row.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/perf/rounds.hpp"
#include "tools/samples.hpp"

namespace tobi_perf {

/// Which ranks work with which memory, where more than two do.
enum class crowd : std::uint8_t {
  none,
  incast,      // all ranks but 1 with that of rank 1
  all_to_all,  // all ranks with those of all others, in turn
};

/// What rank 0 does with the memory of rank 1, and how a single one of them ends.
enum class step : std::uint8_t {
  get,           // round trip
  put,           // until it is complete at the target
  ping_pong,     // a put that the target sees in its memory and replies to with a put; a sample is half of it
  fresh,         // a put that the target sees, upon which it writes what is then read; until that is here
  notify,        // the same with put_notify and poll_notice
  fetch_add,     // round trip
  compare_swap,  // round trip; it succeeds
  chain,         // {compare_swap, get 8, get} posted together
  get_window,    // many posted before the first has to be complete
  put_window,
  wake,  // a put to a target that sleeps, wakes up and replies with a put; round trip
};

struct work {
  step what = step::get;
  std::uint64_t bytes = 8;
  bool both_ways = false;    // of a window: rank 1 does the same with the memory of rank 0
  std::uint64_t window = 0;  // operations of one; 0: as the size says
  bool idle = false;         // the target is not told, and sleeps
  double interval_ns = 0;    // between the times at which operations are due; 0: one waits for the other
};
constexpr bool is_window(step s) noexcept { return s == step::get_window || s == step::put_window; }
/// Operations of one window.
constexpr std::uint64_t window_of(const work& w) noexcept {
  if (w.window != 0) return w.window;
  const std::uint64_t fit = (std::uint64_t{32} << 20) / w.bytes;
  return fit < 16 ? 16 : fit > 1024 ? 1024 : fit;
}
constexpr bool needs_answers(step s) noexcept {
  return s == step::ping_pong || s == step::fresh || s == step::notify || s == step::wake;
}
constexpr bool is_atomic(step s) noexcept {
  return s == step::fetch_add || s == step::compare_swap || s == step::chain;
}

using tobi_tools::summarize;
using tobi_tools::summary;  // of one operation, in nanoseconds

/// Whose calls a row is made of.
enum class calls : std::uint8_t {
  transport,
  raw,   // the library's own calls, those that the transport makes: what the transport adds
  best,  // the quickest of the library's calls for the work: what the transport leaves on the table
};
/// The word of a table's column and of a plot.
constexpr const char* name_of(calls by) noexcept {
  return by == calls::transport ? "" : by == calls::raw ? "raw" : "best";
}

/// One line of the table, or why there is none.
struct row {
  std::string op;
  std::string transport;
  std::optional<std::uint64_t> size;
  calls by = calls::transport;
  std::uint64_t iterations = 0;
  std::uint64_t operations_per_sample = 1;
  std::optional<summary> ns;    // none: not measured, and `note` says why
  std::optional<double> ratio;  // of the library's own calls: the median of the transport divided by this one
  std::string note;
  std::optional<double> round_trips = {};     // steals: mean of the dependent ones
  std::optional<double> first_ns = {};        // the first operation of the row
  std::optional<double> clock_ns = {};        // what reading the clock adds to each sample
  std::optional<double> all_per_second = {};  // operations of all that work at once: both ways, several pairs
  // Share of a core that ranks 0 and 1 took meanwhile, threads of the library included.
  std::optional<std::array<double, 2>> cpu = {};
  std::optional<double> scheduled_per_second = {};  // under a given load
  int pairs = 1;
  int ranks = 0;  // that work at once, in a crowd; 0: there is none
  // Of 95 of 100 measurements, by the rounds.
  std::optional<interval> median_within = {};  // ns
  std::optional<interval> ratio_within = {};
  std::uint64_t rounds = 0;
  std::uint64_t repeated = 0;    // because something else had the cores
  std::uint64_t disturbed = 0;   // of ROUNDS, all the same
  std::string disturbance = {};  // what it was, in one of them; or between the first and the last

  /// Work over time, of all that work at once; 0: not measured.
  [[nodiscard]] double per_second() const noexcept {
    return !ns || ns->mean <= 0 ? 0 : all_per_second.value_or(1e9 / ns->mean);
  }
  /// Of single operations, where enough of them lie beyond it.
  [[nodiscard]] std::optional<double> percentile_ns(double share) const {
    if (!ns || operations_per_sample != 1 || !ns->has_percentile(share)) return std::nullopt;
    return share > 0.99 ? ns->p999 : ns->p99;
  }
};

/// For the process that gathers the rows.
std::string to_line(const row& r);
/// False when LINE is not a row.
bool from_line(const std::string& line, row& r);
/// For programs: the documented fields and no others.
nlohmann::ordered_json to_json(const row& r);

}  // namespace tobi_perf
