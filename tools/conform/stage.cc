// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <time.h>

#include <atomic>

#include "arch/clock.hpp"
#include "tools/conform/rules.hpp"

namespace tobi::conformance {

using transports::op;

void stage::be_patient(waiting what) const {
  if (began_ns == 0 || arch::now_ns() - began_ns <= patience_ns) return;
  const std::string peer = what.peer < 0 ? "a peer" : "rank " + std::to_string(what.peer);
  throw out_of_patience("a wait for " + (what.call == nullptr ? peer : what.call + (" to " + peer)) +
                            " has not ended after " + std::to_string(patience_ns / 1'000'000'000) + " s",
                        what.call != nullptr);
}

// There are more ranks than cores, and a provider may have threads of its own that need one.
void stage::give_way(unsigned spins, waiting what) const {
  if (spins < 64) return;
  be_patient(what);
  if (spins % 16 != 15) {
    sched_yield();
    return;
  }
  const timespec nap{0, 20'000};
  nanosleep(&nap, nullptr);
}

status stage::posted(int peer, std::span<const op> ops) const {
  status s;
  while ((s = fabric.post(peer, ops)) == status::again) wait_a_turn({"a post", peer});
  return s;
}

status stage::done(int peer, std::span<const op> ops) const {
  const waiting for_it{"a flush", peer};
  be_patient(for_it);
  status s = posted(peer, ops);
  if (s != status::ok) return s;
  for (unsigned spins = 0; (s = fabric.flush(peer)) == status::again; ++spins) give_way(spins, for_it);
  return s;
}

status stage::done_soon(int peer, const op& one) const {
  constexpr std::uint64_t soon_ns = 200'000'000;
  if (const status s = posted(peer, {&one, 1}); s != status::ok) return s;
  const std::uint64_t begin = arch::now_ns();
  for (unsigned spins = 0; arch::now_ns() - begin < soon_ns; ++spins) {
    if (const status s = fabric.flush(peer); s != status::again) return s;
    give_way(spins);
  }
  return status::again;
}

void stage::wait_a_turn(waiting what) const {
  static unsigned turns = 0;
  fabric.progress();
  give_way(64 + turns++ % 256, what);
}

bool stage::meet(bool through, bool says) {
  const std::string name = "meeting " + std::to_string(++meetings);
  const bool card[] = {through, says};
  job.put(name, std::as_bytes(std::span(card)));
  meets = 1;
  job.fence();
  meets = 0;
  bool all = true;
  for (int r = 0; r < size(); ++r) all = all && job.get(r, name)[0] != std::byte{0};
  rank0_says = job.get(0, name)[1] != std::byte{0};
  return all;
}

// What a rank waited for in the fence has ended when it is at the first meeting, where all still move.
void stage::fall_asleep() {
  fence();
  meet();
  if (!fabric.serves_only(rank())) job.while_waiting(nullptr);
  meet();
}

void stage::wake_up() {
  meet();
  move_while_waiting();
}

int stage::done_while_asleep(const op& one) {
  int in_time = 0;
  for (int i = 0; i < naps; ++i) {
    fall_asleep();
    if (rank() == 0 && done_soon(1, one) == status::ok) ++in_time;
    wake_up();
    while (rank() == 0 && fabric.flush(1) == status::again) wait_a_turn();
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
    const int from = (rank() + size() - step) % size();
    while (std::atomic_ref(arrived[round]).load(std::memory_order_acquire) < fences) wait_a_turn({nullptr, from});
  }
  // All ranks have come so far. A rule of many rounds may be slow, as on a machine that others use meanwhile.
  if (began_ns != 0) began_ns = arch::now_ns();
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
