// SPDX-License-Identifier: Apache-2.0
// The contract of transports/transport.hpp as rules that can fail. Every rank of a small job runs every rule in step.
//
// Each field of capabilities, and the rules that ask it. "Claimed": the rule fails where the field is set and does not
// hold. "Not claimed": the rule fails where it holds and is not set.
//
//   field                 claimed                     not claimed
//   put_notify            notices                     unclaimed-is-unsupported
//   fetch_add             fetch-add-exact, -unique    fetch-add-exact
//   compare_swap          compare-swap-exact,         compare-swap-excludes
//                         compare-swap-excludes
//   scope                 amo-scope-host              none of atomics that are there: amo-scope-host; domain: (1)
//   amo_in_calls          amo-in-calls                (1)
//   passive_rma           passive-rma                 passive-rma: (2)
//   passive_amo           passive-amo                 passive-amo: (2)
//   needs_progress        needs-progress: (3)         needs-progress
//   maps_peers            direct-map                  direct-map
//   registers_any_memory  any-memory                  unclaimed-is-unsupported
//   ordered_gets          chain-order-of-gets         chain-order-of-gets: (1)
//   has_wait_fd           wait-fd-wakes: (4)          unclaimed-is-unsupported
//   peer_errors           peer-death                  (1)
//   pins_memory           pins, grows                 pins, grows
//   any_thread            any-thread                  (5)
//   inline_max            inline-put                  (1)
//   chain_max             chain-order-..., chain-max  chain-max
//   put_max               put-max                     put-max
//   put_granule           put-integrity: 1 is asked of every transport that the runtime uses
//   peers_max             (6)                         (6)
//   msg_max               notices                     msg-max
//
// (1) That nothing went wrong once promises nothing: atomics of two kinds may not have met, gets may have come in
//     order, one death may have been seen, and a buffer may have been read early. Gets out of order are counted and
//     told.
// (2) A claim may be what was measured at the start, and on a slow machine the measurement says no, which costs polls
//     and is right. So what is not claimed is tried and told, and is no failure.
// (3) It is a demand, so that it holds needlessly is no harm: what came without it is told.
// (4) Where puts are passive nobody needs to be woken: then the rule has nothing to ask.
// (5) A call that is forbidden cannot be tried: it may do anything.
// (6) Connections are closed and made without a sign at this interface. tests/softroce/victims.sh counts them.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/per_rank.hpp"
#include "transports/transport.hpp"

namespace tobi::conformance {

/// A wait in a rule has taken longer than stage::patience_ns. The ranks are no longer in step.
struct out_of_patience : std::runtime_error {
  explicit out_of_patience(const std::string& what, bool is_own = true) : std::runtime_error(what), own(is_own) {}
  bool own;  // for a call of the transport or for what a rule claims, and not for another rank, which knows more
};

/// What a wait is for, to be told where it does not end: CALL to PEER, or PEER itself.
struct waiting {
  const char* call = nullptr;
  int peer = -1;  // -1: whichever
};

/// What a rule works with. Each rank has one region of `bytes`, attached by all, and a small one that fence() uses.
struct stage {
  static constexpr std::size_t bytes = 4u << 20;

  bootstrap::bootstrap& job;
  transports::transport& fabric;
  transports::memory memory;                      // this rank's region
  transports::region_key key;                     // its key
  base::per_rank<transports::region_key> keys;    // of all ranks
  base::per_rank<transports::region_id> regions;  // of all ranks, attached here
  base::per_rank<transports::region_id> sync{};   // likewise, of the words of fence()
  std::uint64_t* arrived = nullptr;               // this rank's words of fence()
  std::uint64_t fences = 0;
  std::string seen{};  // what contradicts the rule, told even where this rank then waits for others in vain
  std::uint64_t meetings = 0;
  bool rank0_says = false;
  volatile std::sig_atomic_t meets = 0;                // this rank waits in the bootstrap: read by a handler
  std::uint64_t affordable = ~std::uint64_t{0};        // round trips in about a second
  std::uint64_t affordable_turns = ~std::uint64_t{0};  // fences in about a second
  std::uint64_t patience_ns = 0;                       // how long a rule may take from fence to fence; then waits throw
  // When the rule began, or was at its last fence; 0: waits have no end. A handler reads it.
  volatile std::uint64_t began_ns = 0;

  [[nodiscard]] int rank() const { return job.rank(); }
  [[nodiscard]] int size() const { return job.size(); }
  [[nodiscard]] int next() const { return (rank() + 1) % size(); }  // the peer that this rank works on
  [[nodiscard]] transports::region_id region(int r) const { return regions[r]; }
  [[nodiscard]] std::byte* local(std::size_t offset = 0) const { return static_cast<std::byte*>(memory.base) + offset; }
  [[nodiscard]] std::uint64_t& word(std::size_t offset) const {
    return *reinterpret_cast<std::uint64_t*>(local(offset));
  }
  /// One turn of a loop that waits for the fabric or for a peer. There may be more ranks than cores.
  /// Throws out_of_patience.
  void wait_a_turn(waiting what = {}) const;
  /// Throws out_of_patience where the rule has taken too long. Each wait calls it, and done().
  void be_patient(waiting what) const;
  /// WORK, whose waits end with WORDS where they take too long.
  template <class Work>
  void or_say(const char* words, Work work) const {
    try {
      work();
    } catch (const out_of_patience&) {
      throw out_of_patience(words);
    }
  }
  /// What wait_a_turn() does without moving the fabric, at the SPINS-th look at something.
  void give_way(unsigned spins, waiting what = {}) const;
  /// How often to try something, at most N: less where a round trip takes long, perhaps because its target must first
  /// be scheduled. The same on all ranks.
  [[nodiscard]] std::uint64_t rounds(std::uint64_t n) const { return n < affordable ? n : affordable; }
  /// The same where ranks wait for each other each time, and each may first have to be scheduled.
  [[nodiscard]] std::uint64_t turns(std::uint64_t n) const { return n < affordable_turns ? n : affordable_turns; }
  /// Waits for all ranks and keeps the fabric moving: a target that sleeps may serve nobody.
  void fence();
  /// What this rank does while it waits in the bootstrap: it moves the fabric, where others may be on their way still.
  void move_while_waiting() const {
    job.while_waiting([this] { fabric.progress(); });
  }
  /// Waits for all ranks in the bootstrap; whether all are THROUGH with the rule. What a rule needs of the bootstrap
  /// goes through here: a rank that has given the rule up meets the others, wherever they are in it, until all are
  /// through. SAYS of rank 0 is all ranks' rank0_says then.
  bool meet(bool through = false, bool says = false);
  /// From the one to the other no rank touches the fabric but the one that asks: what is complete meanwhile is passive.
  /// Only a rank that is there to serve the others moves it, too. Collective, both.
  void fall_asleep();
  void wake_up();
  /// How often, of `naps` tries, ONE of rank 0 on rank 1 was complete while rank 1 was asleep. Collective; 0 elsewhere.
  static constexpr int naps = 3;
  int done_while_asleep(const transports::op& one);

  /// Posts, waiting while the transport returns `again`.
  status posted(int peer, std::span<const transports::op> ops) const;
  /// Posts; then waits for completion. Returns the first status that is not ok.
  status done(int peer, std::span<const transports::op> ops) const;
  status done(int peer, const transports::op& one) const { return done(peer, {&one, 1}); }
  /// The same, and `again` where it is not complete a fifth of a second later.
  status done_soon(int peer, const transports::op& one) const;
  [[nodiscard]] transports::op put(int peer, std::uint64_t at, const void* from, std::uint64_t n) const;
  [[nodiscard]] transports::op get(int peer, std::uint64_t at, void* to, std::uint64_t n) const;
  [[nodiscard]] transports::op add(int peer, std::uint64_t at, std::uint64_t operand, std::uint64_t* old) const;
  [[nodiscard]] transports::op swap(int peer, std::uint64_t at, std::uint64_t expected, std::uint64_t desired,
                                    std::uint64_t* old) const;
};

/// "" when the rule holds on this rank; "skip: ..." when it cannot be asked here; else what was seen.
using rule_function = std::string (*)(stage&);
struct rule {
  std::string_view name;
  rule_function run;
};

std::span<const rule> data_rules();
std::span<const rule> atomic_rules();
std::span<const rule> error_rules();
std::span<const rule> flow_rules();
std::span<const rule> claim_rules();
/// The last rule: the last rank ends, and does not return from here. After the job has been finalized.
std::string a_dead_peer_is_reported(stage&);

}  // namespace tobi::conformance
