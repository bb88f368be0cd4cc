// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/one_sided_thief.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include "libcore/pool/shared_part.hpp"

namespace tobi::pool {

using transports::op;

one_sided_thief::one_sided_thief(net::fabric& net, peers& others, queue& own, sched::victims& choice,
                                 std::vector<int> near)
    : thief(net, others, own, choice, std::move(near)), batch_(net) {}

std::uint64_t one_sided_thief::look(int victim) {
  if (const collection_words* there = others().mapped(victim); there != nullptr) {
    return std::atomic_ref(const_cast<std::uint64_t&>(there->shared)).load(std::memory_order_relaxed);
  }
  std::uint64_t word = 0;
  net().get(others().words_of(victim), &word, sizeof word);
  return word;
}

std::uint64_t one_sided_thief::add_claim(int victim) {
  static_assert(offsetof(collection_words, shared) == 0);
  collection_words* const there = others().mapped(victim);
  if (there != nullptr && net().host_atomics()) {
    // Acquire: the tasks that the word offers.
    return std::atomic_ref(there->shared).fetch_add(shared_part::one_claim, std::memory_order_acq_rel);
  }
  return net().fetch_add(others().words_of(victim), shared_part::one_claim);
}

// A look first where the last claim was in vain, so that claims in vain do not add up (shared_part.hpp).
std::uint64_t one_sided_thief::take_from(int victim) {
  bool& was_empty = others().was_empty(victim);
  const bool is_near = others().mapped(victim) != nullptr;
  if (!is_near) count_attempt();
  if (was_empty && shared_part::unpack(look(victim)).left() == 0) return 0;
  if (is_near) count_attempt();
  const shared_part part = shared_part::unpack(add_claim(victim));
  const std::uint64_t count = part.next_portion();
  was_empty = count == 0;
  if (count == 0) return 0;
  unsigned spins = 0;
  own().make_room(count, [&] { net().wait(spins); });
  copy(victim, others().words_of(victim), part.first + part.claimed(), count);
  tell_copied(victim, count);
  return count;
}

// COUNT tasks from place FIRST of the victim's ring to behind the head of the own one: two rings, so up to three
// pieces.
void one_sided_thief::copy(int victim, net::location words, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t capacity = own().capacity();
  const std::size_t each = own().task_bytes();
  const collection_words* const there = others().mapped(victim);
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t from = (first + done) % capacity;
    const std::uint64_t n = std::min({count - done, capacity - from, own().run_behind(done)});
    const std::uint64_t at = ring_offset + from * each;
    if (there != nullptr) {
      std::memcpy(own().place_behind(done), reinterpret_cast<const std::byte*>(there) + at, n * each);
    } else {
      batch_.get(victim, words.offset() + at, own().place_behind(done), n * each);
    }
    done += n;
  }
  batch_.post();
  batch_.wait();
}

// Nobody waits for it. Release: the copies lie before.
void one_sided_thief::tell_copied(int victim, std::uint64_t count) {
  collection_words* const there = others().mapped(victim);
  if (there != nullptr && net().host_atomics()) {
    std::atomic_ref(there->copied).fetch_add(count, std::memory_order_release);
    return;
  }
  const net::location words = others().words_of(victim);
  const op add = op::add(net().heap(victim), words.offset() + offsetof(collection_words, copied), count, &found_);
  net().post(victim, {&add, 1});
}

}  // namespace tobi::pool
