// SPDX-License-Identifier: Apache-2.0
// Stealing half of what a rank shares: HPDC'12, section 6, figure 4, by one-sided operations. The claim is one
// fetch-and-add (shared_part.hpp). The tasks then go from the victim's ring straight into the thief's, while other
// thieves claim and copy, in any order; a thief that has copied adds to the victim's `copied`.
//
// The paper sends an active message instead, whose handler has to be run by the victim. Where the fabric executes
// atomics and gets without the target's processor nobody has to be run; where it does not, the target's attendant moves
// the fabric, as it does for everything else.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/net/batch.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/pool/peers.hpp"
#include "libcore/pool/queue.hpp"
#include "libcore/sched/victims.hpp"

namespace tobi::pool {

class thief {
 public:
  /// NEAR: the other ranks of this node, as far as their memory is mapped here. CHOICE names victims.
  thief(tasks::fabric& net, peers& others, queue& own, tasks::victims& choice, std::vector<int> near);

  /// Tries one victim, from the ranks of this node the one that shows tasks. Of this rank's own tasks there are none.
  /// True: some are in its queue now.
  bool steal();

  [[nodiscard]] std::uint64_t attempts() const noexcept { return attempts_; }
  [[nodiscard]] std::uint64_t steals() const noexcept { return steals_; }
  [[nodiscard]] std::uint64_t stolen() const noexcept { return stolen_; }
  void reset_counts() noexcept { attempts_ = steals_ = stolen_ = 0; }

 private:
  bool claim(int victim);
  void copy(int victim, tasks::location ring, std::uint64_t first, std::uint64_t count);
  void tell_copied(int victim, std::uint64_t count);
  std::uint64_t look(int victim);
  std::uint64_t add_claim(int victim);
  int someone_near();

  tasks::fabric& net_;
  peers& peers_;
  queue& own_;
  tasks::victims& choice_;
  std::vector<int> near_;
  std::size_t next_near_ = 0;
  tasks::batch batch_;
  std::uint64_t found_ = 0;  // where the unwaited additions put what they have found
  std::uint64_t attempts_ = 0;
  std::uint64_t steals_ = 0;
  std::uint64_t stolen_ = 0;
};

}  // namespace tobi::pool
