// SPDX-License-Identifier: Apache-2.0
// The programs on global memory, as what runs them sees them: phases, each a root task, over memory that all processes
// allocate before. Each program is compiled twice (variant.hpp).
#pragma once

#include <cstdint>
#include <span>

#include "tools/bench/apps/tree.hpp"
#include "tools/bench/fmm/particles.hpp"

namespace tobi_bench {

/// What changes a number of global memory that other tasks change too: the one task that has it checked out, in a later
/// step, or each task where it lies.
enum class change_by : std::uint8_t { checkout, accumulate };

/// Where the tasks of a loop begin, as tobi::affinity has it: the library decides, anywhere, at the owners of the data
/// and may be stolen there, or at the owners alone.
enum class begin_at : std::uint8_t { automatic, none, owner, owner_computes };

/// How the arrays of a program are dealt and split.
struct array_options {
  std::uint64_t cutoff = 0;  // elements of a leaf; 0: the program chooses
  std::uint64_t chunk = 0;   // bytes dealt to a worker at a time; 0: equal parts
};
struct gups_options : array_options {
  std::uint64_t n = std::uint64_t{1} << 20;  // words of the table
  std::uint64_t updates = 0;                 // 0: four for each word
  change_by by = change_by::checkout;
};
struct stream_options : array_options {
  std::uint64_t n = 2'000'000;  // elements of an array
  begin_at where = begin_at::automatic;
};
struct stencil_options : array_options {
  std::uint64_t n = 1000;  // points of a row, and rows
  std::uint64_t steps = 20;
  begin_at where = begin_at::automatic;
};
/// Of histogram and pagerank.
struct graph_options : array_options {
  std::uint64_t scale = 16;   // 2^scale vertices
  std::uint64_t degree = 16;  // edges per vertex
  std::uint64_t seed = 1;
  std::uint64_t iterations = 10;         // pagerank
  begin_at where = begin_at::automatic;  // pagerank
  change_by by = change_by::checkout;    // histogram
};

struct fmm_options {
  std::uint64_t n = 100'000;  // bodies
  particle_shape shape = particle_shape::cube;
  std::uint64_t seed = 1;
  std::uint64_t order = 4;      // P: terms of an expansion are n < P
  double theta = 0.2;           // the sum of two radii, over the distance: below it expansions are used
  std::uint64_t ncrit = 32;     // bodies of a cell that is not split
  std::uint64_t nspawn = 1000;  // bodies of a cell below which there are no tasks
  std::uint64_t steps = 1;
  std::uint64_t check = 100;  // bodies whose fields are computed directly, to compare
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
  void (*before)() = nullptr;  // what all processes do together in main before the root task; part of its time
};

struct memory_program {
  /// Each in its own root task, in turn.
  std::span<const memory_phase> phases;
  /// A root task after them: how many elements are not what a serial program makes them. Null: the result says it.
  phase_result (*wrong)();
};

namespace parallel {
#include "tools/bench/apps/memory_programs.inc"
}
namespace elided {
#include "tools/bench/apps/memory_programs.inc"
}

}  // namespace tobi_bench
