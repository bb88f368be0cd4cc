// SPDX-License-Identifier: Apache-2.0
// Binary task creation (HPDC 2015, section 6): each task creates two tasks, `iter` times over, down to `depth`. Returns
// the number of tasks, ((2 iter)^(depth + 1) - 1) / (2 iter - 1).
#include <tobi/task.hpp>

#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

std::uint64_t btc(std::uint64_t depth, std::uint64_t iter) {
  std::uint64_t tasks = 1;
  if (depth == 0) return tasks;
  for (std::uint64_t i = 0; i < iter; ++i) {
    auto left = tobi::spawn([=] { return btc(depth - 1, iter); });
    auto right = tobi::spawn([=] { return btc(depth - 1, iter); });
    tasks += left.join() + right.join();
  }
  return tasks;
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
