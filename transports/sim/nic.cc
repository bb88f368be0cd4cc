// SPDX-License-Identifier: Apache-2.0
// sim: what the simulated NIC does to memory.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "arch/cpu.hpp"
#include "transports/cpu_ops.hpp"
#include "transports/sim/sim.hpp"

namespace tobi::transports::sim {

namespace {

constexpr std::uint64_t shuffled_max = 4096;  // words; more are moved in order, from a random place on
constexpr std::uint32_t lock_patience = 4096;
constexpr std::uint64_t again_one_in = 16;  // of the words of a put, but for the last one that is written

// The words that [at, at + bytes) touches, counted as the target's memory is aligned.
std::uint64_t words_of(const std::byte* at, std::uint64_t bytes) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(at) / word_bytes;
  const auto end = (reinterpret_cast<std::uintptr_t>(at) + bytes + word_bytes - 1) / word_bytes;
  return end - first;
}

// Moves word INDEX of the range: whole words in one piece, the ends byte by byte.
void move_word(const op& o, std::byte* remote, std::uint64_t index) noexcept {
  const std::uint64_t lead = reinterpret_cast<std::uintptr_t>(remote) % word_bytes;
  const std::uint64_t from = index == 0 ? 0 : index * word_bytes - lead;
  const std::uint64_t end = std::min(o.bytes, (index + 1) * word_bytes - lead);
  auto* local = static_cast<std::byte*>(o.local);
  if (end - from == word_bytes) {
    const std::atomic_ref there(*reinterpret_cast<std::uint64_t*>(remote + from));
    std::uint64_t value = 0;
    if (o.kind == op_kind::put) {
      std::memcpy(&value, local + from, word_bytes);
      there.store(value, std::memory_order_relaxed);
    } else {
      value = there.load(std::memory_order_relaxed);
      std::memcpy(local + from, &value, word_bytes);
    }
    return;
  }
  for (std::uint64_t i = from; i < end; ++i) {
    const std::atomic_ref there(remote[i]);
    if (o.kind == op_kind::put) {
      there.store(local[i], std::memory_order_relaxed);
    } else {
      local[i] = there.load(std::memory_order_relaxed);
    }
  }
}

}  // namespace

// A random moment, in which other processes may do something; sometimes they get our core for it.
void sim_transport::dawdle() noexcept {
  const std::uint64_t moment = rng_.uniform(128);
  if (moment == 0) sched_yield();
  for (std::uint64_t i = 0; i < moment; ++i) arch::pause();
}

// Executes the next operation of C, or a part of it. Full fences on both sides give the order within the chain.
bool sim_transport::execute(link& l, chain& c) noexcept {
  const op& o = c.ops[c.next];
  std::byte* remote = c.remote[c.next];
  bool done = false;
  bool stops = false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (o.kind == op_kind::put || o.kind == op_kind::get) {
    done = (c.moving.words != 0 && c.moving.done == c.moving.words) || transfer(c.moving, o, remote);
    if (done && c.notifies) done = give_notice(l, c.data);
  } else {
    done = change(l, o, remote, stops);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!done) return false;
  c.moving = cursor{};
  c.next = stops ? c.count : c.next + 1;
  return true;
}

bool sim_transport::transfer(cursor& moving, const op& o, std::byte* remote) noexcept {
  if (moving.words == 0) {
    const std::uint64_t n = words_of(remote, o.bytes);
    moving = {n, 0, 0, 1};
    if (n == 0) return true;
    moving.at = rng_.uniform(std::min<std::uint64_t>(n, 0xffff'ffff));
    if (n > 1 && n <= shuffled_max) {
      do moving.stride = 1 + rng_.uniform(n - 1);
      while (std::gcd(moving.stride, n) != 1);
    }
  }
  std::uint64_t now = moving.words - moving.done;
  if (now > 1 && rng_.uniform(4) == 0) now = 1 + rng_.uniform(std::min<std::uint64_t>(now, 0xffff'ffff));
  for (; now > 0; --now, ++moving.done) {
    if (moving.done != 0 && o.kind == op_kind::put && rng_.uniform(again_one_in) == 0) {
      move_word(o, remote, (moving.at + moving.words - moving.stride) % moving.words);
    }
    move_word(o, remote, moving.at);
    moving.at = (moving.at + moving.stride) % moving.words;
    if (moving.words <= 32 && rng_.uniform(16) == 0) dawdle();
  }
  return moving.done == moving.words;
}

// An atomic as a NIC does it that nobody but itself respects: load, wait, store.
bool sim_transport::change(link& l, const op& o, std::byte* remote, bool& stops) noexcept {
  if (!take_lock(l)) return false;
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(remote));
  const std::uint64_t found = word.load(std::memory_order_acquire);
  dawdle();
  if (o.kind == op_kind::fetch_add) {
    word.store(found + o.operand, std::memory_order_release);
  } else if (found == o.expected) {
    word.store(o.operand, std::memory_order_release);
  } else {
    // A device may write the word back all the same, over what was stored meanwhile.
    word.store(found, std::memory_order_release);
    // What follows a guard that failed is not needed: sometimes it is done all the same.
    stops = o.guard && rng_.uniform(2) == 0;
  }
  l.nic->lock.store(0, std::memory_order_release);
  std::memcpy(o.local, &found, sizeof found);
  return true;
}

bool sim_transport::give_notice(link& l, std::uint64_t data) noexcept {
  if (!take_lock(l)) return false;
  nic_page& page = *l.nic;
  const bool room = page.given - page.taken < nic_page::slots;
  if (room) page.inbox[page.given++ % nic_page::slots] = {rank_, data};
  page.lock.store(0, std::memory_order_release);
  return room;
}

// Never waits: the holder of the lock may have been preempted, and we try again in a later step. A holder that has died
// is succeeded.
bool sim_transport::take_lock(link& l) noexcept {
  const std::uint32_t mine = static_cast<std::uint32_t>(rank_) + 1;
  std::uint32_t holder = 0;
  if (l.nic->lock.compare_exchange_strong(holder, mine, std::memory_order_acquire)) {
    l.refused = 0;
    return true;
  }
  if (++l.refused < lock_patience) return false;
  l.refused = 0;
  return holder != mine && !alive(to(static_cast<int>(holder) - 1)) &&
         l.nic->lock.compare_exchange_strong(holder, mine, std::memory_order_acquire);
}

}  // namespace tobi::transports::sim
