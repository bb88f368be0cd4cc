// SPDX-License-Identifier: Apache-2.0
#include "libcore/net/fabric.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <string>

#include "arch/cpu.hpp"
#include "libcore/base/log.hpp"
#include "libcore/trace/trace.hpp"
#include "transports/nap.hpp"

namespace tobi::net {

using transports::op;

namespace {

// The worker that we wait for may need this core: a target that must poll, or a provider's thread. What comes within
// some ten microseconds, as it does on a fast fabric, is met spinning. On a machine with more workers than cores many
// may wait at once, and giving the core to each other in turn would keep it from those that they wait for.
constexpr unsigned eager = 128;
constexpr unsigned yielding = 4096;
constexpr std::uint64_t nap_ns = 20'000;

// Where there is a descriptor to sleep on a look at the transport is system calls: a few looks are all that is spun.
// What comes over the fabric ends the nap, and what a neighbour puts into this memory does not.
constexpr unsigned eager_looks = 1;
constexpr std::uint64_t longest_sleep_ns = 1'000'000;
constexpr std::uint64_t line_bytes = 64;

}  // namespace

fabric::fabric(transports::transport& transport, int rank, int size, std::byte* own_heap, heap_layout heaps,
               key_source keys, unsigned crowd)
    : transport_(transport),
      rank_(rank),
      crowd_(crowd),
      host_atomics_(transport.caps().scope == transports::amo_scope::host),
      own_heap_(own_heap),
      heaps_(*this, heaps),
      keys_(std::move(keys)),
      peers_(size) {}

void fabric::lost(int rank, status why, const char* doing) const {
  if (why == status::peer_lost) base::let_a_death_be_told();
  const std::string where = "cannot reach " + base::name_of_rank(rank) + " over " + std::string(transport_.name());
  // What the machine refuses here it refuses to all, most likely.
  if (const std::string reason = transport_.why_not_reached(); !reason.empty()) {
    base::fatal_everywhere(why == status::peer_lost ? 0 : rank_, where + ": " + reason + ".", base::exit_failure);
  }
  base::fatal(where + " (" + doing + ": " + std::string(to_string(why)) + "); the job ends.");
}

void fabric::attach(int rank, attached& p) {
  const peer_keys keys = keys_(rank);
  status s = transport_.attach(rank, keys.heap, p.heap);
  if (s == status::ok) s = transport_.attach(rank, keys.stack, p.stack);
  if (s != status::ok) lost(rank, s, "attaching its memory");
  p.ready = true;
}

void fabric::wait_a_little(unsigned& spins, std::uint64_t sleepable_ns) {
  ++spins;
  if (crowd_ > 1) {
    const bool looks = transport_.wait_fd() >= 0;
    if (spins >= (looks ? eager_looks : eager)) {
      transports::nap(transport_, looks ? sleepable_ns : nap_ns);
    } else {
      arch::pause();
    }
  } else if (spins < eager || (spins < yielding && spins % 16 != 0)) {
    arch::pause();
  } else if (spins < yielding || spins % 16 != 0) {
    sched_yield();
  } else {
    transports::nap(transport_, nap_ns);
  }
}

void fabric::wait(unsigned& spins) {
  transport_.progress();
  wait_a_little(spins, std::min(nap_ns * crowd_ * (8 + spins) / 8, longest_sleep_ns));
}

void fabric::post_whole(int rank, std::span<const op> ops, bool in_order) {
  ops = heaps_.reached(rank, heap(rank), ops);
  for (unsigned spins = 0;; wait(spins)) {
    const status s = in_order ? transport_.post(rank, ops) : transport_.post_unordered(rank, ops);
    if (s == status::ok) return;
    if (s != status::again) lost(rank, s, "posting an operation");
  }
}

// The words of one put or get have no order, so neither have its parts.
void fabric::post_one(int rank, const op& o) {
  const std::uint64_t most = transport_.caps().put_max;
  if (o.bytes <= most || most == 0) return post_whole(rank, {&o, 1});
  const std::uint64_t step = most < line_bytes ? most : most - most % line_bytes;  // words stay whole
  for (std::uint64_t done = 0; done < o.bytes; done += step) {
    op part = o;
    part.remote += done;
    part.local = static_cast<std::byte*>(o.local) + done;
    part.bytes = std::min(step, o.bytes - done);
    post_whole(rank, {&part, 1});
  }
}

bool fabric::one_chain(std::span<const op> ops) const noexcept {
  const std::uint64_t most = transport_.caps().put_max;
  return chains(ops.size()) &&
         std::all_of(ops.begin(), ops.end(), [&](const op& o) { return most == 0 || o.bytes <= most; });
}

// Without chains order comes from waiting. False: what was waited for is a guard that failed.
bool fabric::complete_first(int rank, const op& first) {
  complete(rank);
  return !first.guard || *static_cast<const std::uint64_t*>(first.local) == first.expected;
}

void fabric::post(int rank, std::span<const op> ops) {
  if (one_chain(ops)) {
    post_whole(rank, ops);
    return;
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    post_one(rank, ops[i]);
    if (i + 1 < ops.size() && !complete_first(rank, ops[i])) return;
  }
}

void fabric::post_apart(int rank, std::span<const op> ops) {
  if (one_chain(ops)) {  // one call, and one doorbell of the device
    post_whole(rank, ops, false);
    return;
  }
  for (const op& o : ops) post_one(rank, o);
}

void fabric::post_behind(int rank, std::span<const op> ops) {
  if (one_chain(ops)) {
    post_whole(rank, ops);
    return;
  }
  post_one(rank, ops[0]);
  if (complete_first(rank, ops[0])) post_apart(rank, ops.subspan(1));
}

void fabric::complete(int rank) {
  ++round_trips_;
  std::uint64_t begin_ns = 0;  // what is complete at once made nobody wait
  for (unsigned spins = 0;; wait_a_little(spins, longest_sleep_ns)) {
    const status s = transport_.flush(rank);
    if (s == status::ok) break;
    if (s != status::again) lost(rank, s, "waiting for an operation");
    if (trace::tracing != nullptr && begin_ns == 0) begin_ns = trace::tracer::now();
  }
  if (begin_ns != 0) trace::tracing->waited(rank, begin_ns);
}

void fabric::settle(int rank) {
  ++settled_;
  for (unsigned spins = 0;; wait_a_little(spins, longest_sleep_ns)) {
    const status s = transport_.flush(rank);
    if (s == status::ok) return;
    if (s != status::again) lost(rank, s, "waiting for an operation");
  }
}

// A get of a word each. A connection takes the time of several messages and of both processes: where those have to wait
// for a core, one connection behind the other takes the sum of all.
void fabric::meet(std::span<const int> ranks, const std::function<void(unsigned spins)>& wait) {
  constexpr std::size_t at_a_time = 4;
  struct call {
    int rank;
    bool posted;
    std::uint64_t got;  // reads that are under way share no memory
  };
  std::list<call> calls;
  for (unsigned spins = 0; !ranks.empty() || !calls.empty(); ++spins) {
    for (; !ranks.empty() && calls.size() < at_a_time; ranks = ranks.subspan(1)) calls.push_back({ranks[0], false, 0});
    std::erase_if(calls, [&](call& c) {
      const op hello = op::get(heap(c.rank), 0, &c.got, sizeof c.got);
      status s = c.posted ? status::ok : transport_.post(c.rank, {&hello, 1});
      if (s == status::ok) {
        c.posted = true;
        s = transport_.flush(c.rank);
      }
      if (s != status::ok && s != status::again) lost(c.rank, s, "meeting it");
      return s == status::ok;
    });
    if (!calls.empty()) wait(spins);
  }
}

void fabric::drain() {
  for (int r = 0; r < size(); ++r) {
    if (peers_[r].ready) complete(r);
  }
}

void fabric::get(location from, void* to, std::size_t bytes) {
  if (is_local(from)) {
    std::memcpy(to, local(from), bytes);
    return;
  }
  const op one = op::get(heap(from.rank()), from.offset(), to, bytes);
  post(from.rank(), {&one, 1});
  complete(from.rank());
}

std::uint64_t fabric::compare_swap(location word, std::uint64_t expected, std::uint64_t desired) {
  if (is_local(word) && cpu_atomics(rank_)) {
    std::atomic_ref<std::uint64_t> here_(*static_cast<std::uint64_t*>(local(word)));
    // Release: what was written before is seen by a worker that finds `desired`; acquire: what the other side wrote, by
    // us.
    here_.compare_exchange_strong(expected, desired, std::memory_order_acq_rel, std::memory_order_acquire);
    return expected;
  }
  const op one = op::cas(heap(word.rank()), word.offset(), expected, desired, &fetched_);
  post(word.rank(), {&one, 1});
  complete(word.rank());
  return fetched_;
}

std::uint64_t fabric::fetch_add(location word, std::uint64_t operand) {
  if (is_local(word) && cpu_atomics(rank_)) {
    std::atomic_ref<std::uint64_t> here_(*static_cast<std::uint64_t*>(local(word)));
    return here_.fetch_add(operand, std::memory_order_acq_rel);
  }
  const op one = op::add(heap(word.rank()), word.offset(), operand, &fetched_);
  post(word.rank(), {&one, 1});
  complete(word.rank());
  return fetched_;
}

}  // namespace tobi::net
