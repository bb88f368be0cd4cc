// SPDX-License-Identifier: Apache-2.0
// The transport as the scheduler uses it: waits where the contract returns `again`, splits chains where there are none,
// ends the job when a peer is lost, and counts the dependent round trips that a figure in the statistics rests on.
//
// Where there are no chains order costs a round trip, so the caller says how much of it is needed: all (post), none
// (post_apart), or that one operation comes before the others (post_behind).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "libcore/net/heap_regions.hpp"
#include "libcore/net/location.hpp"
#include "transports/transport.hpp"

namespace tobi::net {

/// The two regions of a worker, as its peers know them.
struct peer_keys {
  transports::region_key heap;   // control block and heap; a location's offset counts from its start
  transports::region_key stack;  // the uni-address region
};

class fabric {
 public:
  /// The keys of RANK. Asked when this worker first has to do with it, so that nobody keeps those of ranks that it
  /// never meets; inside of whatever it does then, so it may block and must not suspend a task.
  using key_source = std::function<peer_keys(int rank)>;

  /// OWN_HEAP is the start of this worker's heap region. SIZE: of the job.
  /// CROWD: workers per core.
  fabric(transports::transport& transport, int rank, int size, std::byte* own_heap, heap_layout heaps, key_source keys,
         unsigned crowd = 1);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(peers_.size()); }
  [[nodiscard]] transports::transport& transport() noexcept { return transport_; }

  [[nodiscard]] transports::region_id heap(int rank) { return peer(rank).heap; }
  [[nodiscard]] transports::region_id stack(int rank) { return peer(rank).stack; }
  /// The start of the heap region of a worker whose memory is mapped here, so that nobody waits for a get; or null.
  [[nodiscard]] std::byte* mapped(int rank) { return transport_.map(peer(rank).heap); }

  /// An object of this worker's heap.
  [[nodiscard]] void* local(location where) const noexcept { return own_heap_ + where.offset(); }
  [[nodiscard]] location here(const void* object) const noexcept {
    return {rank_, static_cast<std::uint64_t>(static_cast<const std::byte*>(object) - own_heap_)};
  }
  [[nodiscard]] bool is_local(location where) const noexcept { return where.rank() == rank_; }
  /// Whether CPU atomics and the transport's exclude each other. Else a word is changed by one kind alone.
  [[nodiscard]] bool host_atomics() const noexcept { return host_atomics_; }
  /// Whether the CPU's exclude those of others on RANK's heap region, where that is mapped. With amo_in_calls those
  /// on this worker's own are executed inside of its calls, so nobody executes one meanwhile.
  [[nodiscard]] bool cpu_atomics(int rank) const noexcept {
    return host_atomics_ || (rank == rank_ && transport_.caps().amo_in_calls);
  }
  /// Where the uni-address region of a worker is mapped here, or null.
  [[nodiscard]] std::byte* mapped_stack(int rank) { return transport_.map(peer(rank).stack); }
  [[nodiscard]] heap_regions& heaps() noexcept { return heaps_; }
  /// Whether so many operations can be one chain.
  [[nodiscard]] bool chains(std::size_t ops) const noexcept { return transport_.caps().chain_max >= ops; }

  /// Posts a chain; waits while the transport returns `again`. Splits it where chains are not to be had, and an
  /// operation where it is longer than put_max.
  void post(int rank, std::span<const transports::op> ops);
  /// Posts operations that need no order: never waits for one of them to post the next.
  void post_apart(int rank, std::span<const transports::op> ops);
  /// Posts the first operation, and behind it the others, which need no order among themselves. The others are not
  /// posted where the first one is a guard that fails.
  void post_behind(int rank, std::span<const transports::op> ops);
  /// One turn of a loop that waits for another worker: moves what others want of this one, which may be just what they
  /// need, and gives the core away as SPINS grows.
  void wait(unsigned& spins);
  /// Waits until all that was posted to RANK is complete: one dependent round trip.
  void complete(int rank);
  /// The same, of operations that are no part of a steal or a join: neither counted nor traced.
  void settle(int rank);
  /// Makes the connections to RANKS, a few at a time. WAIT is one turn of a loop that waits.
  void meet(std::span<const int> ranks, const std::function<void(unsigned spins)>& wait);
  /// Waits for everything that was posted to anybody, unwaited operations included.
  void drain();
  /// Ends the job, because WHY is what came of DOING something with RANK.
  [[noreturn]] void lost(int rank, status why, const char* doing) const;

  /// Blocking single operations on the heap region; each is one round trip unless the rank is this one.
  void get(location from, void* to, std::size_t bytes);
  std::uint64_t compare_swap(location word, std::uint64_t expected, std::uint64_t desired);
  std::uint64_t fetch_add(location word, std::uint64_t operand);

  [[nodiscard]] std::uint64_t round_trips() const noexcept { return round_trips_; }
  /// With those of settle().
  [[nodiscard]] std::uint64_t waits() const noexcept { return round_trips_ + settled_; }

 private:
  struct attached {
    bool ready = false;
    transports::region_id heap = 0;
    transports::region_id stack = 0;
  };
  attached& peer(int rank) {
    attached& p = peers_[rank];
    if (!p.ready) [[unlikely]] {
      attach(rank, p);
    }
    return p;
  }
  void attach(int rank, attached& p);
  void wait_a_little(unsigned& spins, std::uint64_t sleepable_ns);
  bool complete_first(int rank, const transports::op& first);
  [[nodiscard]] bool one_chain(std::span<const transports::op> ops) const noexcept;
  void post_whole(int rank, std::span<const transports::op> ops, bool in_order = true);
  void post_one(int rank, const transports::op& o);

  transports::transport& transport_;
  int rank_;
  unsigned crowd_;
  bool host_atomics_;  // this worker may use CPU atomics on words that peers change through the transport
  std::byte* own_heap_;
  heap_regions heaps_;
  key_source keys_;
  base::per_rank<attached> peers_;
  std::uint64_t round_trips_ = 0;
  std::uint64_t settled_ = 0;
  std::uint64_t fetched_ = 0;  // where compare_swap and fetch_add land
};

}  // namespace tobi::net
