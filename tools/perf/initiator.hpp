// SPDX-License-Identifier: Apache-2.0
// Rank 0 of a measurement: makes a row of each operation on each lane, in rounds in which the lanes take turns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tools/perf/arguments.hpp"
#include "tools/perf/control.hpp"
#include "tools/perf/items.hpp"
#include "tools/perf/lane.hpp"
#include "tools/perf/pairs.hpp"
#include "tools/perf/rounds.hpp"

namespace tobi_perf {

/// What two readings of the clock, one behind the other, are apart.
[[nodiscard]] double clock_cost_ns();

/// Makes the file of --samples, if there is to be one: rank 0 adds to it.
void begin_samples(const arguments& a);

class initiator {
 public:
  /// PAIRS: null where there is one alone. OTHER_CPU: the core of rank 1, where both are bound to cores of this
  /// machine; else -1.
  initiator(const arguments& a, controller& other, std::vector<lane*> lanes, pair* pairs, int other_cpu)
      : a_(a), other_(other), lanes_(std::move(lanes)), stuck_(lanes_.size()), pairs_(pairs), other_cpu_(other_cpu) {}

  /// Measures on every lane that can: UNABLE says why one cannot, or nothing.
  void measure(const item& i, const std::vector<std::string>& unable, std::vector<row>& rows);
  /// Writes what R of lane L, which was measured last, is made of, where the user wants it.
  void show_samples(std::size_t l, const row& r) const;

  /// What all pairs have found, where OWN is of this one.
  [[nodiscard]] row sum(const row& own) {
    if (pairs_ == nullptr) return own;
    meet(to_line(own));
    return pairs_->sum();
  }

  /// Whether operations of a lane never ended.
  [[nodiscard]] bool is_stuck() const { return std::find(stuck_.begin(), stuck_.end(), true) != stuck_.end(); }

 private:
  struct plan {
    std::uint64_t a_sample = 1;
    double first_ns = 0;
    std::uint64_t samples = 0;  // where the user gives a number of operations; 0: there is no plan yet
  };
  // Of a row.
  struct taken {
    std::vector<round_taken> rounds;
    done_by_itself back;

    [[nodiscard]] std::vector<double> medians() const {
      std::vector<double> all;
      for (const round_taken& r : rounds) {
        if (!r.samples.empty()) all.push_back(tobi_tools::median(r.samples));
      }
      return all;
    }
  };
  void meet(const std::string& says = "") {
    if (pairs_ == nullptr) return;
    other_.meet();
    pairs_->meet(says);
  }
  void wake(const work& w, std::size_t lane_index);
  bool drains(const work& w, std::size_t lane_index);
  void release(const work& w, std::size_t lane_index, done_by_itself& back, round_taken& in);
  void take_round(const work& w, const std::vector<std::string>& unable, std::uint64_t round, std::vector<plan>& plans,
                  std::vector<taken>& all);
  std::uint64_t repeat_disturbed(const work& w, const std::vector<std::string>& unable, std::vector<plan>& plans,
                                 std::vector<taken>& all);
  static void fill_load(row& r, double interval_ns, const taken& of);
  void fill(row& r, const plan& p, const taken& of) const;
  bool make_plan(lane& l, const work& w, plan& p);
  double most_per_second(const work& w, std::size_t lane_index);
  bool follow_schedule(lane& l, const work& w, std::uint64_t round, plan& p, round_taken& in);
  bool measure_round(lane& l, const work& w, std::uint64_t round, plan& p, round_taken& in);

  const arguments& a_;
  controller& other_;
  std::vector<lane*> lanes_;
  std::vector<bool> stuck_;  // operations of the lane never ended: nothing more can be asked of it
  pair* pairs_;
  int other_cpu_;
  std::vector<taken> taken_;  // of the last rows, by lane
  // What was reached when all operations were due at once.
  std::map<std::tuple<step, std::uint64_t, bool>, double> most_per_second_;
  double clock_ns_ = clock_cost_ns();
};

}  // namespace tobi_perf
