// SPDX-License-Identifier: Apache-2.0
// What all workers of a job do together: the barrier, sums, and the news that a run has ended.
//
// All of it goes by nodes. The workers of a node share memory where the transport maps it, and there a word that one
// writes and the others read costs no message: so one rank of each node, its speaker, talks to the other nodes'
// speakers for all of them. Where nothing is mapped each worker is a node of its own here.
//
// A rank that waits in a barrier also finds out whether the one that it waits for is somewhere else: each barrier's
// message says in which call of the program it was made, and each rank shows the call that it is in (collective.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "libcore/job/collective.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::job {

inline constexpr int barrier_rounds = net::location::rank_bits;  // log2 of the nodes that there can be
inline constexpr std::size_t combined_max = 512;                 // bytes

/// In every worker's control block.
struct assembly_words {
  // The end of a run. `result` is written before `epoch`.
  struct alignas(64) {
    std::uint64_t epoch;   // of the last run whose end was told here
    std::uint64_t result;  // location of a root_result
  } notice;
  // Of a speaker: the generation of the barrier that its partner of a round has reached, above the tag of its place.
  alignas(64) std::uint64_t arrived[barrier_rounds];
  // Of a speaker, for its neighbours and the CPU's atomics: how many have come, in all; the generation that may go on.
  alignas(64) std::uint64_t gathered;
  alignas(64) std::uint64_t released;
  alignas(64) std::uint64_t inside;  // the place of this rank, for those that wait for it
  // combine(): what this rank brings, a speaker what its whole subtree does; and what all have brought.
  alignas(64) std::array<std::byte, combined_max> part;
  alignas(64) std::array<std::byte, combined_max> total;
  // Of a speaker: the generation whose part its child of a round has ready, and that whose total is here, above tags.
  alignas(64) std::uint64_t ready[barrier_rounds];
  alignas(64) std::uint64_t told;
};

/// What a rank waits for: a word of its own or of a neighbour that only grows.
struct awaited {
  std::uint64_t& word;
  std::uint64_t least;

  /// Acquire: what its writer did before is seen behind this.
  [[nodiscard]] std::uint64_t now() const noexcept { return std::atomic_ref(word).load(std::memory_order_acquire); }
  [[nodiscard]] bool is_there() const noexcept { return now() >= least; }
};

/// How a rank waits in an assembly, and ends the sleep of a neighbour that does.
struct waiting {
  /// The turn number SPINS of a loop, which serves others. It may sleep.
  std::function<void(unsigned spins, const awaited& what)> turn;
  std::function<void()> call_neighbours;
  std::function<void(int rank)> call_neighbour;
};

class assembly {
 public:
  /// OWN is this worker's, and all workers have theirs at the same place. NODE_OF: the node of each rank.
  assembly(net::fabric& net, assembly_words& own, const base::per_rank<int>& node_of, waiting how);

  /// This rank has come to a call that all make together. What is inside of it makes no further ones.
  void enter(call which) noexcept;
  /// Returns once all workers have called it. Ends the job where they are in different calls.
  void barrier();
  /// Adds FROM to INTO: in any order, in any grouping.
  using adder = void (*)(void* into, const void* from);
  /// A barrier that makes of everybody's WORDS, of up to combined_max BYTES, in whole words, the sum of all by ADD.
  void combine(void* words, std::size_t bytes, adder add);

  /// Whether this worker tells others of the end of a run whose root ended on ORIGIN.
  [[nodiscard]] bool tells(int origin) const noexcept;
  /// Writes the notice of ORIGIN to the speakers that this one is to tell: a binomial tree of nodes.
  void tell_nodes(int origin, std::uint64_t epoch);
  /// Writes it to the neighbours, whose result is at RESULT.
  void tell_neighbours(std::uint64_t epoch, std::uint64_t result);

 private:
  [[nodiscard]] int nodes() const noexcept { return static_cast<int>(speakers_.size()); }
  [[nodiscard]] assembly_words& of_neighbour(int rank);
  void gather_neighbours();
  void release_neighbours();
  void come_to(int speaker);
  void hear(std::uint64_t& word, int from);
  void tell(int rank, std::size_t at);
  void wait(const awaited& what, int peer);
  void look_at(int peer);
  void look_at_neighbours();
  [[nodiscard]] place place_of(int rank);
  [[noreturn]] void contradicted(int by, place there);

  net::fabric& net_;
  assembly_words& own_;
  std::uint64_t offset_;  // of the words in each heap
  waiting waiting_;
  base::per_rank<int> speakers_;  // of each node
  base::per_rank<int> place_of_;  // of each rank: its node's index in speakers_
  int place_ = 0;                 // this worker's
  std::vector<int> neighbours_;   // of this worker
  std::uint64_t generation_ = 0;
  place inside_{};                          // of this rank
  std::uint64_t arriving_ = 0;              // source of the puts of a barrier and of combine()
  std::array<std::uint64_t, 2> telling_{};  // source of the puts of the notice: result, epoch
};

}  // namespace tobi::job
