// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/thief.hpp"

#include <atomic>
#include <utility>

#include "arch/clock.hpp"
#include "libcore/deque/call_attendant.hpp"
#include "libcore/pool/shared_part.hpp"

namespace tobi::pool {

namespace {

// What an owner keeps to itself should have been executed by then.
constexpr std::uint64_t patience_ns = 2 * queue::private_ns;

}  // namespace

thief::thief(net::fabric& net, peers& others, queue& own, sched::victims& choice, std::vector<int> near)
    : net_(net), peers_(others), own_(own), choice_(choice), near_(std::move(near)) {
  if (!near_.empty()) next_near_ = static_cast<std::size_t>(net.rank()) % near_.size();
}

bool thief::steal() {
  if (choice_.none()) return false;
  int victim = someone_near();
  if (victim < 0) victim = choice_.next();
  const std::uint64_t count = take_from(victim);
  if (count == 0) {
    choice_.in_vain();
    return false;
  }
  own_.added(count);
  ++steals_;
  stolen_ += count;
  return true;
}

// Which rank of this node has something, by a look at each one's word: a cache miss. -1: nobody. One that only keeps
// some to itself, and whose task takes long, has its attendant called, which shares them. Not sooner: the owner would
// wait for its attendant, which waits for a core.
int thief::someone_near() {
  for (std::size_t i = 0; i < near_.size(); ++i) {
    next_near_ = next_near_ + 1 < near_.size() ? next_near_ + 1 : 0;
    const int rank = near_[next_near_];
    collection_words* const there = peers_.mapped(rank);
    if (shared_part::unpack(std::atomic_ref(there->shared).load(std::memory_order_relaxed)).left() != 0) return rank;
    if (deque::asked(there->window) && peers_.silent_ns(rank, arch::now_ns()) >= patience_ns) {
      (void)deque::call_attendant(there->window);
    }
  }
  return -1;
}

}  // namespace tobi::pool
