// SPDX-License-Identifier: Apache-2.0
// Four doubles that are computed with at once, as g++ and clang have them on any processor. What is here is inlined
// into the clones of clones.hpp, so that each uses the instructions of its own processor.
#pragma once

#include <cstring>

#define TOBI_BENCH_INLINE [[gnu::always_inline]] inline
#define TOBI_BENCH_INLINED __attribute__((always_inline))  // of a lambda

namespace tobi_bench::laplace {

using vec4 = double __attribute__((vector_size(32)));
inline constexpr unsigned lanes = 4;

// By reference: how a function takes or returns a vec4 depends on the processor.
TOBI_BENCH_INLINE void load(vec4& to, const double* from) { std::memcpy(&to, from, sizeof to); }
TOBI_BENCH_INLINE void store(double* to, const vec4& from) { std::memcpy(to, &from, sizeof from); }
constexpr unsigned whole_vectors(unsigned n) { return (n + lanes - 1) / lanes; }

}  // namespace tobi_bench::laplace
