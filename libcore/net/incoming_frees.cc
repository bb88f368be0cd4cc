// SPDX-License-Identifier: Apache-2.0
#include "libcore/net/incoming_frees.hpp"

#include <atomic>

namespace tobi::net {

using transports::op;

// A compare-and-swap acquires; on a lock that is free it is the one round trip of the four.
void incoming_frees::take_lock(int rank) {
  for (unsigned spins = 0; net_.compare_swap(of(rank, offsetof(incoming_area, lock)), 0, 1) != 0;) net_.wait(spins);
}

void incoming_frees::release_lock(int rank) { net_.compare_swap(of(rank, offsetof(incoming_area, lock)), 1, 0); }

void incoming_frees::free(location object) {
  const int rank = object.rank();
  const location count = of(rank, offsetof(incoming_area, count));
  for (unsigned spins = 0;; net_.wait(spins)) {
    take_lock(rank);
    const std::uint64_t index = net_.fetch_add(count, 1);
    if (index < incoming_area::entries) {
      offset_ = object.offset();
      const op put =
          op::put(net_.heap(rank), of(rank, offsetof(incoming_area, object)).offset() + index * sizeof(std::uint64_t),
                  &offset_, sizeof offset_);
      net_.post(rank, {&put, 1});
      net_.complete(rank);
      release_lock(rank);
      return;
    }
    net_.fetch_add(count, ~std::uint64_t{0});
    release_lock(rank);
    collect();
  }
}

std::size_t incoming_frees::collect() noexcept {
  if (std::atomic_ref(mine_.count).load(std::memory_order_relaxed) == 0) return 0;
  const int self = net_.rank();
  take_lock(self);
  // Acquire, by the lock: the offsets that were put before it was released. One that was turned away may have counted
  // itself for a moment, but not outside of the lock.
  const std::uint64_t count = std::atomic_ref(mine_.count).load(std::memory_order_relaxed);
  for (std::uint64_t i = 0; i < count; ++i) objects_.free_local(net_.local({self, mine_.object[i]}));
  net_.fetch_add(of(self, offsetof(incoming_area, count)), ~count + 1);
  release_lock(self);
  return count;
}

}  // namespace tobi::net
