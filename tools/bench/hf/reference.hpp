// SPDX-License-Identifier: Apache-2.0
// The total energy as one process computes it without tiles, Schwarz's inequality or tables. Each order of an
// integral's indices is a term of its own.
#pragma once

#include <cstddef>

#include "tools/bench/hf/molecule.hpp"

namespace tobi_bench::hf {

/// Returns how many numbers it keeps.
[[nodiscard]] std::size_t reference_integrals(const molecule& m);
/// Returns the energy of step STEPS.
[[nodiscard]] double reference_energy(const molecule& m, int steps);

}  // namespace tobi_bench::hf
