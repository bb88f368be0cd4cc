// SPDX-License-Identifier: Apache-2.0
// All ways to place n queens on an n x n board: a task for each queen placed. Without a cutoff, unless one is asked
// for: the last rows of a board can be searched without tasks. Boards are three bit masks.
#include <bit>
#include <tobi/task.hpp>

#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

struct board {
  std::uint32_t all;      // the n columns
  std::uint32_t columns;  // taken
  std::uint32_t rising;   // diagonals that attack this row
  std::uint32_t falling;
  int cutoff;  // rows

  [[nodiscard]] std::uint32_t free() const { return all & ~(columns | rising | falling); }
  [[nodiscard]] board with(std::uint32_t bit) const {
    return {all, columns | bit, (rising | bit) << 1, (falling | bit) >> 1, cutoff};
  }
};

constexpr std::uint32_t lowest_bit(std::uint32_t bits) { return bits & (~bits + 1); }

// No tasks from here on.
std::uint64_t count(board b) {
  if (b.columns == b.all) return 1;
  std::uint64_t ways = 0;
  for (std::uint32_t free = b.free(); free != 0; free &= free - 1) ways += count(b.with(lowest_bit(free)));
  return ways;
}

std::uint64_t solve(board b);

// The placements of FREE columns in this row: one of them as a task, the others after it.
std::uint64_t place(board b, std::uint32_t free) {
  const std::uint32_t bit = lowest_bit(free);
  const std::uint32_t rest = free ^ bit;
  const board next = b.with(bit);
  if (rest == 0) return solve(next);
  auto here = tobi::spawn([=] { return solve(next); });
  const std::uint64_t others = place(b, rest);
  return here.join() + others;
}

std::uint64_t solve(board b) {
  if (b.columns == b.all) return 1;
  if (std::popcount(b.all ^ b.columns) <= b.cutoff) return count(b);
  const std::uint32_t free = b.free();
  return free == 0 ? 0 : place(b, free);
}

}  // namespace

std::uint64_t nqueens(std::uint64_t n, std::uint64_t cutoff) {
  return solve({static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1), 0, 0, 0, static_cast<int>(cutoff)});
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
