// SPDX-License-Identifier: Apache-2.0
// The programs on global memory, as what runs them sees them: phases, each a root task, over memory that all processes
// allocate before. Each program is compiled twice (variant.hpp).
#pragma once

#include <cstdint>
#include <span>

#include "tools/bench/apps/tree.hpp"

namespace tobi_bench {

/// What was asked for. Each program reads what is its own.
struct memory_sizes {
  std::uint64_t n = 0;           // gups: words; stream: elements of an array
  std::uint64_t updates = 0;     // gups
  std::uint64_t scale = 0;       // graphs: 2^scale vertices
  std::uint64_t degree = 0;      // graphs: edges per vertex
  std::uint64_t seed = 0;        // graphs
  std::uint64_t iterations = 0;  // pagerank
  std::uint64_t cutoff = 0;      // elements of a leaf; 0: that of the algorithms
  std::uint64_t chunk = 0;       // bytes dealt to a worker at a time; 0: equal parts
  tree shape;                    // uts-mem
};

/// What a phase found: a number, or the two words of a tree_count.
struct phase_result {
  std::uint64_t number = 0;
  std::uint64_t second = 0;
};

struct memory_phase {
  const char* name;
  bool counts;  // its time is part of the run's
  phase_result (*body)();
};

struct memory_program {
  /// Every process calls it before the first run; collective.
  void (*prepare)(const memory_sizes& asked);
  /// Each in its own root task, in turn.
  std::span<const memory_phase> phases;
  /// A root task after them: how many elements are not what a serial program makes them. Null: the result says it.
  phase_result (*wrong)();
};

namespace parallel {
extern const memory_program uts_mem_program, gups_program, stream_program, histogram_program, pagerank_program;
}
namespace elided {
extern const memory_program uts_mem_program, gups_program, stream_program, histogram_program, pagerank_program;
}

}  // namespace tobi_bench
