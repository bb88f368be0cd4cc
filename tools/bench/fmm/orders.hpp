// SPDX-License-Identifier: Apache-2.0
// What the kernels of expansions share: each is a template over the order, whose loops have constant bounds.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "tools/bench/fmm/laplace.hpp"
#include "tools/bench/fmm/vectors.hpp"

namespace tobi_bench::laplace {

constexpr unsigned place(unsigned n, unsigned m) { return n * (n + 1) / 2 + m; }

/// 1 / (n^2 - m^2), of the recurrence of R: in rows of WIDTH that begin at m = FIRST. There are zeros for |m| >= n.
template <unsigned Order, int First, unsigned Width>
constexpr auto inverse_table() {
  std::array<double, std::size_t{Order} * Width> t{};
  for (int n = 1; n < int{Order}; ++n) {
    for (int m = 1 - n; m < n; ++m) {
      if (m >= First) t[std::size_t(n) * Width + std::size_t(m - First)] = 1.0 / double(n * n - m * m);
    }
  }
  return t;
}
template <unsigned Order, int First, unsigned Width>
inline constexpr auto inverses = inverse_table<Order, First, Width>();

/// Calls f(std::integral_constant<unsigned, ORDER>).
template <class F>
TOBI_BENCH_INLINE void with_order(unsigned order, const F& f) {
  switch (order) {
#define TOBI_BENCH_ORDER(P) \
  case P:                   \
    return f(std::integral_constant<unsigned, P>())
    TOBI_BENCH_ORDER(1);
    TOBI_BENCH_ORDER(2);
    TOBI_BENCH_ORDER(3);
    TOBI_BENCH_ORDER(4);
    TOBI_BENCH_ORDER(5);
    TOBI_BENCH_ORDER(6);
    TOBI_BENCH_ORDER(7);
    TOBI_BENCH_ORDER(8);
    TOBI_BENCH_ORDER(9);
    TOBI_BENCH_ORDER(10);
    TOBI_BENCH_ORDER(11);
    TOBI_BENCH_ORDER(12);
#undef TOBI_BENCH_ORDER
  }
}

}  // namespace tobi_bench::laplace
