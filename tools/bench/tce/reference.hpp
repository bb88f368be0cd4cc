// SPDX-License-Identifier: Apache-2.0
// The contraction as one process computes it, element by element, without tiles, global memory or BLAS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/bench/tce/tensor.hpp"

namespace tobi_bench::tce {

/// Element (P, Q, R, S) of the tensor number WHICH that is made from SEED: between -1 and 1. Indices are below 2^16.
inline double element(std::uint64_t seed, unsigned which, std::size_t p, std::size_t q, std::size_t r, std::size_t s) {
  std::uint64_t z = (std::uint64_t{p} << 48 | std::uint64_t{q} << 32 | std::uint64_t{r} << 16 | std::uint64_t{s}) +
                    (2 * seed + which) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>(static_cast<std::int64_t>(z ^ (z >> 31))) * 0x1p-63;
}

/// What element (I, J, K, L) of C is, where A[i,j,a,b] and B[a,b,k,l] are made from SEED and OUTER is the index of i to
/// l, INNER that of a and b.
[[nodiscard]] double contracted(std::uint64_t seed, const index_range& outer, const index_range& inner, std::size_t i,
                                std::size_t j, std::size_t k, std::size_t l);

}  // namespace tobi_bench::tce
