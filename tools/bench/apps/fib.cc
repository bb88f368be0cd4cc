// SPDX-License-Identifier: Apache-2.0
// Fibonacci numbers without a cutoff: nothing but forks and joins. fib(n) forks fib(n + 1) - 1 times.
#include <tobi/task.hpp>

#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

std::uint64_t fib(std::uint64_t n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const std::uint64_t y = fib(n - 2);
  return x.join() + y;
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
