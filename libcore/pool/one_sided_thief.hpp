// SPDX-License-Identifier: Apache-2.0
// Stealing half of what a rank shares: HPDC'12, section 6, figure 4, by one-sided operations. The claim is one
// fetch-and-add (shared_part.hpp). The tasks then go from the victim's ring straight into the thief's, while other
// thieves claim and copy, in any order; a thief that has copied adds to the victim's `copied`.
//
// For fabrics that execute atomics without the target's processor. Else message_thief.hpp.
#pragma once

#include <cstdint>

#include "libcore/net/batch.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/pool/thief.hpp"

namespace tobi::pool {

class one_sided_thief final : public thief {
 public:
  one_sided_thief(net::fabric& net, peers& others, queue& own, sched::victims& choice, std::vector<int> near);

 private:
  std::uint64_t take_from(int victim) override;
  void copy(int victim, net::location words, std::uint64_t first, std::uint64_t count);
  void tell_copied(int victim, std::uint64_t count);
  std::uint64_t look(int victim);
  std::uint64_t add_claim(int victim);

  net::batch batch_;
  std::uint64_t found_ = 0;  // where the unwaited additions put what they have found
};

}  // namespace tobi::pool
