// SPDX-License-Identifier: Apache-2.0
// The total energy as one process computes it without tiles, screening, symmetry or tables.
#pragma once

#include "tools/bench/hf/molecule.hpp"

namespace tobi_bench::hf {

/// Returns the energy of step STEPS.
[[nodiscard]] double reference_energy(const molecule& m, int steps);

}  // namespace tobi_bench::hf
