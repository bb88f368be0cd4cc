// SPDX-License-Identifier: Apache-2.0
// Hartree-Fock as HPDC'12 measures it (section 7.1): the two-electron part of the Fock matrix, computed by tasks over
// tiles of four functions' indices. A task of which the Schwarz inequality says that all integrals are small is a null
// task.
#pragma once

#include <cstdint>
#include <memory>
#include <tobi/runtime.hpp>

#include "tools/bench/arguments.hpp"
#include "tools/bench/collection_program.hpp"

namespace tobi_bench {

/// Returns how many tasks a complete set of options makes.
[[nodiscard]] std::uint64_t hf_tasks(const hf_options& asked);
/// Returns how many integrals the serial program of --verify would keep.
[[nodiscard]] std::uint64_t hf_reference_integrals(const hf_options& asked);
/// Collective.
std::unique_ptr<collection_program> make_hf(tobi::runtime& rt, const arguments& a);

}  // namespace tobi_bench
