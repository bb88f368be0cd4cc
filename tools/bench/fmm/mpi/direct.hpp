// SPDX-License-Identifier: Apache-2.0
// How exact the fields are, by sums over all pairs for some of the bodies.
#pragma once

#include "tools/bench/fmm/mpi/options.hpp"
#include "tools/bench/fmm/mpi/team.hpp"
#include "tools/bench/fmm/mpi/tree.hpp"

namespace tobi_bench::fmm_mpi {

/// Relative errors in the L2 norm.
struct errors {
  double potential = 0, force = 0;
};

/// Collective. Of the bodies whose numbers divide those of all evenly.
errors measured_errors(team& with, const options& asked, const particles& own);

/// The most that is right. With order 4 and a theta up to 0.4 it is what exafmm-beta's own tests allow.
errors allowed_errors(const method& how);

/// Collective. Half of the sum of charge times potential: a number of all bodies, by which runs are compared.
double energy(team& with, const particles& own);

}  // namespace tobi_bench::fmm_mpi
