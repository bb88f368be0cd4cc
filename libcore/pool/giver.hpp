// SPDX-License-Identifier: Apache-2.0
// What a victim does where thieves ask by messages: HPDC'12, section 6, figure 4. It marks half of what it shares as
// stolen, puts the tasks from its ring into the thief's, and tells the thief when they are there. Several transfers may
// be under way, and end in any order; each adds to `copied` (the paper's itail) when it has ended.
//
// The figure's lock is not needed. A request is handled by the victim's own thread, or by its attendant while that is
// in a task; one of them is inside the runtime at a time (task/door.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcore/net/batch.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/pool/mail.hpp"
#include "libcore/pool/queue.hpp"
#include "libcore/pool/words.hpp"

namespace tobi::pool {

class giver {
 public:
  /// Of collection NUMBER. Tasks of OWN, which lie behind WORDS.
  giver(net::fabric& net, mail& post, queue& own, collection_words& words, std::size_t number);

  /// THIEF asks. Marks tasks as stolen; serve() sends them. False: there are none to steal.
  [[nodiscard]] bool asked(int thief, const mail::request& what);
  /// Sends what is marked, and tells the thieves whose tasks have come. Waits for none of them.
  void serve();

 private:
  struct transfer {
    int thief;
    mail::request to;
    std::uint64_t first;  // place in the own ring
    std::uint64_t count;
    bool posted = false;
    bool arrived = false;
  };
  void post(const transfer& what);

  mail& mail_;
  queue& own_;
  collection_words& words_;
  std::uint32_t number_;
  net::batch batch_;
  std::vector<transfer> under_way_;
};

}  // namespace tobi::pool
