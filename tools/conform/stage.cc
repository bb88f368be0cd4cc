// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <time.h>

#include <atomic>

#include "arch/clock.hpp"
#include "tools/conform/rules.hpp"

namespace tobi::conformance {

using transports::op;

void stage::be_patient() const {
  if (began_ns == 0 || arch::now_ns() - began_ns <= patience_ns) return;
  throw out_of_patience("a wait for the fabric or for a peer has not ended after " +
                        std::to_string(patience_ns / 1'000'000'000) + " s");
}

// There are more ranks than cores, and a provider may have threads of its own that need one.
void stage::give_way(unsigned spins) const {
  if (spins < 64) return;
  be_patient();
  if (spins % 16 != 15) {
    sched_yield();
    return;
  }
  const timespec nap{0, 20'000};
  nanosleep(&nap, nullptr);
}

status stage::posted(int peer, std::span<const op> ops) const {
  status s;
  while ((s = fabric.post(peer, ops)) == status::again) wait_a_turn();
  return s;
}

status stage::done(int peer, std::span<const op> ops) const {
  be_patient();
  status s = posted(peer, ops);
  if (s != status::ok) return s;
  for (unsigned spins = 0; (s = fabric.flush(peer)) == status::again; ++spins) give_way(spins);
  return s;
}

void stage::wait_a_turn() const {
  static unsigned turns = 0;
  fabric.progress();
  give_way(64 + turns++ % 256);
}

// Rank 0 is the one that works. Servers wait for its word in the fabric, because a launcher's fence moves nothing.
void stage::sleep_until_all() {
  constexpr std::size_t word = 64;  // of the words of fence(), behind those of its rounds
  ++sleeps;
  if (fabric.serves_only(rank())) {
    while (std::atomic_ref(arrived[word]).load(std::memory_order_acquire) < sleeps) wait_a_turn();
  } else {
    for (int r = 0; rank() == 0 && r < size(); ++r) {
      if (!fabric.serves_only(r)) continue;
      const op tell = op::put(sync[r], word * 8, &sleeps, 8);
      if (done(r, tell) != status::ok) return;  // the rule will say what does not work
    }
    job.while_waiting(nullptr);
  }
  job.fence();
  move_while_waiting();
}

int stage::done_during_naps(const op& one) {
  constexpr std::uint64_t ms = 1'000'000;
  int in_time = 0;
  for (int i = 0; i < naps; ++i) {
    fence();
    const std::uint64_t begin = arch::now_ns();
    if (rank() == 0) {
      const timespec until_all_sleep{0, 50 * ms};
      nanosleep(&until_all_sleep, nullptr);
      const std::uint64_t posted_ns = arch::now_ns();
      if (done(1, one) == status::ok && arch::now_ns() - posted_ns < 100 * ms) ++in_time;
    } else if (fabric.serves_only(rank())) {
      while (arch::now_ns() - begin < 250 * ms) wait_a_turn();
    } else {
      const timespec nap{0, 250 * ms};
      nanosleep(&nap, nullptr);
    }
  }
  fence();
  return in_time;
}

// Dissemination, as the job's own barrier.
void stage::fence() {
  ++fences;
  int round = 0;
  for (int step = 1; step < size(); step *= 2, ++round) {
    const int to = (rank() + step) % size();
    const op tell = op::put(sync[to], static_cast<std::uint64_t>(round) * 8, &fences, 8);
    if (done(to, tell) != status::ok) return;  // the rule will say what does not work
    while (std::atomic_ref(arrived[round]).load(std::memory_order_acquire) < fences) {
      wait_a_turn();
    }
  }
}

op stage::put(int peer, std::uint64_t at, const void* from, std::uint64_t n) const {
  return op::put(region(peer), at, from, n);
}
op stage::get(int peer, std::uint64_t at, void* to, std::uint64_t n) const { return op::get(region(peer), at, to, n); }
op stage::add(int peer, std::uint64_t at, std::uint64_t operand, std::uint64_t* old) const {
  return op::add(region(peer), at, operand, old);
}
op stage::swap(int peer, std::uint64_t at, std::uint64_t expected, std::uint64_t desired, std::uint64_t* old) const {
  return op::cas(region(peer), at, expected, desired, old);
}

}  // namespace tobi::conformance
