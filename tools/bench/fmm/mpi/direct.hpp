// SPDX-License-Identifier: Apache-2.0
// How exact the fields are, by sums over all pairs for some of the bodies.
#pragma once

#include "tools/bench/fmm/accuracy.hpp"
#include "tools/bench/fmm/mpi/options.hpp"
#include "tools/bench/fmm/mpi/team.hpp"
#include "tools/bench/fmm/mpi/tree.hpp"

namespace tobi_bench::fmm_mpi {

/// Collective. Of the bodies whose numbers divide those of all evenly.
fmm_errors measured_errors(team& with, const options& asked, const particles& own);

/// Collective. Half of the sum of charge times potential: a number of all bodies, by which runs are compared.
double energy(team& with, const particles& own);

}  // namespace tobi_bench::fmm_mpi
