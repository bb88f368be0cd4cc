// SPDX-License-Identifier: Apache-2.0
// What the other ranks see of one rank's part of a collection. It lies in the registered heap, and the ring of tasks
// follows it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libcore/deque/window.hpp"

namespace tobi::pool {

inline constexpr std::size_t tree_children = 2;

/// What rebalance() needs of another rank, as offsets in its heap region (rebalancing.hpp).
struct balance_places {
  std::uint64_t slots, given, directory;
};

/// Each group of words has a cache line: a rank that polls one does not slow down a rank that changes another.
struct alignas(64) collection_words {
  std::uint64_t shared;              // W (shared_part.hpp): thieves add, the owner compares and swaps
  alignas(64) std::uint64_t copied;  // how many tasks thieves have copied out of the ring, in all: thieves add
  alignas(64) std::uint64_t up[tree_children];  // tokens of the children (termination.hpp)
  std::uint64_t down;                           // the parent's
  std::uint64_t abandoned;                      // the last process() of which a neighbour in the tree says so
  alignas(64) balance_places balance;
  alignas(64) std::uint64_t executed;  // tasks, since the start: thieves of the same node see whether one takes long
  // For the attendant of this collection: a bell is rung while the owner keeps tasks to itself, `attendant` is the
  // futex by which thieves of the same node call. All else of it is unused.
  deque::steal_window window;
};

/// Where the ring begins.
inline constexpr std::size_t ring_offset = sizeof(collection_words);

}  // namespace tobi::pool
