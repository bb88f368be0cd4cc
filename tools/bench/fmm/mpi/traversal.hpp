// SPDX-License-Identifier: Apache-2.0
// The fields of the bodies of one process, by the algorithm that the program with tasks has too: each cell has a list
// of candidates, which are source cells whose bodies act on its own and are in no expansion yet. ExaFMM's criterion
// decides about each.
//
// There are two passes, so that the first can be made while trees of other processes are under way. The first is over
// the process's own tree. The second is over all others, and takes the local expansions down.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "tools/bench/fmm/mpi/tree.hpp"

namespace tobi_bench::fmm_mpi {

struct method {
  unsigned order = 4;
  double theta = 0.2;
  std::uint32_t ncrit = 32;
  int threads = 1;
};

/// How often: cells with cells (M2L), and bodies with bodies.
struct interactions {
  std::uint64_t cells = 0;
  std::uint64_t bodies = 0;
};

/// How many pairs of bodies take as long as one M2L, as measured of laplace's kernels.
double pairs_of_m2l(unsigned order);

enum class pass : std::uint8_t { first, last };

/// Adds to the fields and the work of ALL, the bodies of TARGETS. The last pass adds what the local expansions are
/// worth. MEANWHILE is called every some tens of microseconds on the calling thread.
interactions interact(const method& how, pass which, tree& targets, particles& all,
                      std::span<const source_tree> sources, const std::function<void()>& meanwhile);

}  // namespace tobi_bench::fmm_mpi
