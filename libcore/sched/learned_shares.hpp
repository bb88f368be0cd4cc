// SPDX-License-Identifier: Apache-2.0
// What the executions of a loop say about its next division among workers (tobi/detail/divide.hpp).
//
// The same division, time after time, is worth more than the best one: what moves takes its data along, and every loop
// over the same data moves apart from the others. A part whose data lie elsewhere is more work, and seems to be worth
// moving further. So a loop is divided as if all indices were alike until three executions, one after the other, have
// shown some worker to have two fifths more than its share. Of the three the smallest load of each part of the loop
// counts, since what disturbs an execution makes it longer. When the next three are not better by a tenth, all moves
// back, and the next move needs twice as much.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "tobi/detail/division.hpp"

namespace tobi::sched {

class learned_shares {
 public:
  /// An execution by WORKERS, a number of them or a part of one, has shown SEEN. Some of its loads are above 0. Where
  /// tasks moved, they say no more than about how much all of it was. How much that is the last one says, since a loop
  /// that was small may be large now.
  void took(const detail::loop_seen& seen, double workers) noexcept {
    const detail::loop_loads& loads = seen.loads;
    if (!seen.alone) {
      total_ns_ = loads.total();
      return;
    }
    last_[seen_++ % last_.size()] = loads;
    const std::size_t kept = std::min(seen_, last_.size());
    detail::loop_loads least = loads;
    for (std::size_t k = 0; k < kept; ++k) {
      for (std::size_t i = 0; i < detail::loop_loads::shares; ++i) least.ns[i] = std::min(least.ns[i], last_[k].ns[i]);
    }
    if (!(least.total() > 0)) return;
    total_ns_ = loads.total();
    if (kept < last_.size()) return;
    const auto parts =
        static_cast<std::size_t>(std::clamp(workers, 2.0, static_cast<double>(detail::loop_loads::shares)));
    judge(least, shares_.largest_part(least, parts));
  }
  /// What the next division goes by. The sum is what an execution takes, in nanoseconds.
  [[nodiscard]] detail::loop_loads shares() const noexcept { return shares_.scaled_to(total_ns_); }

 private:
  // By LEAST a worker has LARGEST times its share.
  void judge(const detail::loop_loads& least, double largest) noexcept {
    const double longest_ns = largest * least.total();
    if (moved_from_ns_ != 0 && longest_ns > worth_keeping * moved_from_ns_) {
      shares_ = before_;
      worth_moving_ += worth_moving_ - 1;
      seen_ = 0;
    } else if (largest > worth_moving_) {
      before_ = shares_;
      moved_from_ns_ = longest_ns;
      shares_ = least;
      seen_ = 0;
      return;
    }
    moved_from_ns_ = 0;
  }

  static constexpr double worth_keeping = 0.9;

  detail::loop_loads shares_ = detail::loop_loads::even(1);
  std::array<detail::loop_loads, 3> last_;
  std::size_t seen_ = 0;  // since the division is as it is
  double total_ns_ = 0;
  double worth_moving_ = 1.4;
  detail::loop_loads before_;  // the shares from which these have moved
  double moved_from_ns_ = 0;   // what that took, times the workers; 0: these have been judged
};

}  // namespace tobi::sched
