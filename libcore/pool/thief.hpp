// SPDX-License-Identifier: Apache-2.0
// A rank that has no tasks tries one victim after the other. How tasks then come here, and how many, depends on the
// fabric: one_sided_thief.hpp, message_thief.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/pool/peers.hpp"
#include "libcore/pool/queue.hpp"
#include "libcore/sched/victims.hpp"

namespace tobi::pool {

class thief {
 public:
  /// NEAR: the other ranks of this node, as far as their memory is mapped here. CHOICE names victims.
  thief(net::fabric& net, peers& others, queue& own, sched::victims& choice, std::vector<int> near);
  virtual ~thief() = default;
  thief(const thief&) = delete;
  thief& operator=(const thief&) = delete;

  /// Tries one victim, from the ranks of this node the one that shows tasks. Of this rank's own tasks there are none.
  /// True: some are in its queue now.
  bool steal();

  [[nodiscard]] std::uint64_t attempts() const noexcept { return attempts_; }
  [[nodiscard]] std::uint64_t steals() const noexcept { return steals_; }
  [[nodiscard]] std::uint64_t stolen() const noexcept { return stolen_; }
  void reset_counts() noexcept { attempts_ = steals_ = stolen_ = 0; }

 protected:
  /// Returns how many tasks of VICTIM lie behind the head of the own queue now.
  virtual std::uint64_t take_from(int victim) = 0;
  /// VICTIM is asked, or its words are read or changed by way of the fabric, or claimed from: what costs it or the
  /// fabric something. A glance at mapped memory that shows no task is no attempt.
  void count_attempt() noexcept { ++attempts_; }

  [[nodiscard]] net::fabric& net() noexcept { return net_; }
  [[nodiscard]] peers& others() noexcept { return peers_; }
  [[nodiscard]] queue& own() noexcept { return own_; }

 private:
  int someone_near();

  net::fabric& net_;
  peers& peers_;
  queue& own_;
  sched::victims& choice_;
  std::vector<int> near_;
  std::size_t next_near_ = 0;
  std::uint64_t attempts_ = 0;
  std::uint64_t steals_ = 0;
  std::uint64_t stolen_ = 0;
};

}  // namespace tobi::pool
