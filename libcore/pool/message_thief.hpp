// SPDX-License-Identifier: Apache-2.0
// Stealing half of what a rank shares by an active message: HPDC'12, section 6, figure 4, the thief's side. The victim
// puts the tasks straight into this rank's ring (giver.hpp).
//
// For fabrics on which an atomic is a message that the target's processor executes: one message claims the tasks and
// has them sent, where a one-sided steal waits for an atomic, and then for a get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "libcore/net/fabric.hpp"
#include "libcore/pool/mail.hpp"
#include "libcore/pool/thief.hpp"

namespace tobi::pool {

class message_thief final : public thief {
 public:
  /// WAIT: one turn of a loop that waits, and reads messages.
  message_thief(net::fabric& net, peers& others, queue& own, sched::victims& choice, std::vector<int> near, mail& post,
                std::size_t number, std::function<void(unsigned spins)> wait);

  /// COUNT tasks have come, or 0: none will.
  void delivered(std::uint64_t count) noexcept;

 private:
  std::uint64_t take_from(int victim) override;

  mail& mail_;
  std::uint32_t number_;
  std::function<void(unsigned spins)> wait_;
  bool asked_ = false;
  std::uint64_t brought_ = 0;
};

}  // namespace tobi::pool
