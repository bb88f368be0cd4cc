// SPDX-License-Identifier: Apache-2.0
// What the executions of a loop say about its next division among workers (tobi/detail/divide.hpp).
//
// The same division, time after time, is worth more than the best one: what moves takes its data along, and every loop
// over the same data moves apart from the others. So a loop is divided as if all indices were alike until two
// executions, one after the other, have shown more than a fifth of a worker to be on the wrong side of a border. Of
// both the smaller load of each share counts, since whatever disturbs an execution makes it longer.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tobi/detail/division.hpp"

namespace tobi::sched {

class learned_shares {
 public:
  /// An execution by WORKERS, a number of them or a part of one, took LOADS, of which some are above 0.
  void took(const detail::loop_loads& loads, double workers) noexcept {
    detail::loop_loads least = loads;
    if (known_) {
      for (std::size_t i = 0; i < detail::loop_loads::shares; ++i) least.ns[i] = std::min(last_.ns[i], loads.ns[i]);
    }
    last_ = loads;
    const bool twice = known_;
    known_ = true;
    if (!(least.total() > 0)) return;
    total_ns_ = least.total();
    if (twice && shares_.distance(least) * workers > tolerance) shares_ = least;
  }
  /// What the next division goes by. The sum is what an execution takes, in nanoseconds.
  [[nodiscard]] detail::loop_loads shares() const noexcept { return shares_.scaled_to(total_ns_); }

 private:
  static constexpr double tolerance = 0.2;

  detail::loop_loads shares_ = detail::loop_loads::even(1);
  detail::loop_loads last_;
  double total_ns_ = 0;
  bool known_ = false;
};

}  // namespace tobi::sched
