// SPDX-License-Identifier: Apache-2.0
// Which process has which bodies: orthogonal recursive bisection of space.
#pragma once

#include "tools/bench/fmm/mpi/team.hpp"
#include "tools/bench/fmm/mpi/tree.hpp"

namespace tobi_bench::fmm_mpi {

/// What all processes have the same of: bodies, as the MPI program of SC'23 (section 6.4), or the work of the last
/// step.
enum class balance : std::uint8_t { count, work };

/// Collective. Each process has its part of the bodies then.
void partition(team& all, particles& own, balance by);

}  // namespace tobi_bench::fmm_mpi
