// SPDX-License-Identifier: Apache-2.0
// A tensor contraction as HPDC'12 measures it (section 7.1): C[i,j,k,l] += A[i,j,a,b] B[a,b,k,l] over tiles, of which
// symmetry makes many zero. A task multiplies a tile of A by one of B, and adds the product to the tile of C where it
// lies. It is local integer operations that tell which tasks there are, so there are no null tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tobi/runtime.hpp>

#include "tools/bench/arguments.hpp"
#include "tools/bench/collection_program.hpp"

namespace tobi_bench {

/// The most values that an index may have.
inline constexpr std::size_t tce_values_most = 65535;
/// Returns how many tasks there are, or how many tiles C has where these are more: every worker keeps a word of each.
[[nodiscard]] std::uint64_t tce_tasks(const tce_options& asked);
/// Makes the contraction ready in this process, before the job starts. Returns why it cannot be run, or "".
[[nodiscard]] std::string load_tce();

/// Collective.
std::unique_ptr<collection_program> make_tce(tobi::runtime& rt, const arguments& a);

}  // namespace tobi_bench
