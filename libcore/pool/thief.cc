// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/thief.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include "arch/clock.hpp"
#include "libcore/deque/call_attendant.hpp"
#include "libcore/pool/shared_part.hpp"

namespace tobi::pool {

using transports::op;

namespace {

// What an owner keeps to itself should have been executed by then.
constexpr std::uint64_t patience_ns = 2 * queue::private_ns;

}  // namespace

thief::thief(tasks::fabric& net, peers& others, queue& own, tasks::victims& choice, std::vector<int> near)
    : net_(net), peers_(others), own_(own), choice_(choice), near_(std::move(near)), batch_(net) {
  if (!near_.empty()) next_near_ = static_cast<std::size_t>(net.rank()) % near_.size();
}

bool thief::steal() {
  if (choice_.none()) return false;
  ++attempts_;
  int victim = someone_near();
  if (victim < 0) victim = choice_.next();
  if (claim(victim)) return true;
  choice_.in_vain();
  return false;
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
    if (tasks::asked(there->window) && peers_.silent_ns(rank, arch::now_ns()) >= patience_ns) {
      (void)tasks::call_attendant(there->window);
    }
  }
  return -1;
}

std::uint64_t thief::look(int victim) {
  if (const collection_words* there = peers_.mapped(victim); there != nullptr) {
    return std::atomic_ref(const_cast<std::uint64_t&>(there->shared)).load(std::memory_order_relaxed);
  }
  std::uint64_t word = 0;
  net_.get(peers_.words_of(victim), &word, sizeof word);
  return word;
}

std::uint64_t thief::add_claim(int victim) {
  static_assert(offsetof(collection_words, shared) == 0);
  collection_words* const there = peers_.mapped(victim);
  if (there != nullptr && net_.host_atomics()) {
    // Acquire: the tasks that the word offers.
    return std::atomic_ref(there->shared).fetch_add(shared_part::one_claim, std::memory_order_acq_rel);
  }
  return net_.fetch_add(peers_.words_of(victim), shared_part::one_claim);
}

// A look first where the last claim was in vain, so that claims in vain do not add up (shared_part.hpp).
bool thief::claim(int victim) {
  bool& was_empty = peers_.was_empty(victim);
  if (was_empty && shared_part::unpack(look(victim)).left() == 0) return false;
  const shared_part part = shared_part::unpack(add_claim(victim));
  const std::uint64_t count = part.next_portion();
  was_empty = count == 0;
  if (count == 0) return false;
  unsigned spins = 0;
  own_.make_room(count, [&] { net_.wait(spins); });
  copy(victim, peers_.words_of(victim), part.first + part.claimed(), count);
  tell_copied(victim, count);
  own_.added(count);
  ++steals_;
  stolen_ += count;
  return true;
}

// COUNT tasks from place FIRST of the victim's ring to behind the head of the own one: two rings, so up to three
// pieces.
void thief::copy(int victim, tasks::location words, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t capacity = own_.capacity();
  const std::size_t each = own_.task_bytes();
  const collection_words* const there = peers_.mapped(victim);
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t from = (first + done) % capacity;
    const std::uint64_t n = std::min({count - done, capacity - from, own_.run_behind(done)});
    const std::uint64_t at = ring_offset + from * each;
    if (there != nullptr) {
      std::memcpy(own_.place_behind(done), reinterpret_cast<const std::byte*>(there) + at, n * each);
    } else {
      batch_.get(victim, words.offset() + at, own_.place_behind(done), n * each);
    }
    done += n;
  }
  batch_.post();
  batch_.wait();
}

// Nobody waits for it. Release: the copies lie before.
void thief::tell_copied(int victim, std::uint64_t count) {
  collection_words* const there = peers_.mapped(victim);
  if (there != nullptr && net_.host_atomics()) {
    std::atomic_ref(there->copied).fetch_add(count, std::memory_order_release);
    return;
  }
  const tasks::location words = peers_.words_of(victim);
  const op add = op::add(net_.heap(victim), words.offset() + offsetof(collection_words, copied), count, &found_);
  net_.post(victim, {&add, 1});
}

}  // namespace tobi::pool
