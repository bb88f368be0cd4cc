// SPDX-License-Identifier: Apache-2.0
// Parallel loops (CLUSTER 2022, figure 5). PFor: K loops of N iterations, one after the other, each a recursive binary
// fork-join. RecPFor: at each level of a binary recursion, such loops over what is left, as in quicksort. An iteration
// is some rounds of multiply-adds, calibrated to a duration, or a sleep. Both return how many iterations were run.
#include <tobi/task.hpp>

#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

std::uint64_t loop(std::uint64_t n, iteration one) {
  if (n == 1) return one();
  auto left = tobi::spawn([=] { return loop(n / 2, one); });
  const std::uint64_t right = loop(n - n / 2, one);
  return left.join() + right;
}

}  // namespace

std::uint64_t pfor(std::uint64_t k, std::uint64_t n, iteration one) {
  std::uint64_t iterations = 0;
  for (std::uint64_t i = 0; i < k; ++i) iterations += loop(n, one);
  return iterations;
}

std::uint64_t recpfor(std::uint64_t k, std::uint64_t n, iteration one) {
  if (n == 1) return one();
  const std::uint64_t here = pfor(k, n, one);
  auto left = tobi::spawn([=] { return recpfor(k, n / 2, one); });
  const std::uint64_t right = recpfor(k, n / 2, one);
  return here + left.join() + right;
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
