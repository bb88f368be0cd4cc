// SPDX-License-Identifier: Apache-2.0
// Tasks that are tied to this worker and wait for records, of which nobody tells it: it looks. CLUSTER 2022 (figure 3)
// looks at one after each steal that failed; then a worker with n waiting tasks has n attempts to steal between two
// looks at the same one, and each look at another node's record is a round trip. With some thousand futures (a
// wavefront of 8,192 over tcp) nearly all of the time went there: child_full took more than 20 times as long as the
// greedy join, which is told.
//
// So a turn looks at many: at records in memory that is mapped here for the price of a load each, and at others by gets
// that are under way together, some of them for one round trip. What is found done is kept, and not looked at again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "libcore/net/fabric.hpp"

namespace tobi::tasks {

class wait_queue {
 public:
  struct waiting {
    std::uint64_t task;  // what the scheduler goes on with
    std::uint64_t record;
    std::uint64_t since_ns;  // of the join, or of the last look at the record where clocks differ
  };
  /// At a time: loads, and gets under way.
  static constexpr std::size_t loads = 256;
  static constexpr std::size_t gets = 32;

  void push(net::fabric& net, const waiting& one);
  /// One that can go on, if a look here finds some. STILL is the time from which on those wait that cannot, or 0 where
  /// that does not change.
  bool take_near(net::fabric& net, std::uint64_t still, waiting& found);
  /// The same for a look elsewhere, which is one round trip to each worker that is asked.
  bool take_far(net::fabric& net, std::uint64_t still, waiting& found);

  [[nodiscard]] std::size_t size() const noexcept { return near_.size() + far_.size() + done_.size(); }
  /// So many turns look at each task once.
  [[nodiscard]] std::size_t turns() const noexcept;
  [[nodiscard]] std::vector<waiting> all() const;

 private:
  bool take_done(waiting& found);

  std::deque<waiting> near_;  // whose records are in memory that is mapped here
  std::deque<waiting> far_;
  std::deque<waiting> done_;
};

}  // namespace tobi::tasks
