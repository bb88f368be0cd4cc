// All ways to place n queens on an n x n board, a task for each queen placed, without a cutoff. Boards are three bit
// masks.
#include <tobi/task.hpp>

#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

struct board {
  std::uint32_t all;      // the n columns
  std::uint32_t columns;  // taken
  std::uint32_t rising;   // diagonals that attack this row
  std::uint32_t falling;
};

std::uint64_t solve(board b);

// The placements of FREE columns in this row: one of them as a task, the others after it.
std::uint64_t place(board b, std::uint32_t free) {
  const std::uint32_t bit = free & (~free + 1);
  const std::uint32_t rest = free ^ bit;
  const board next{b.all, b.columns | bit, (b.rising | bit) << 1, (b.falling | bit) >> 1};
  if (rest == 0) return solve(next);
  auto here = tobi::spawn([=] { return solve(next); });
  const std::uint64_t others = place(b, rest);
  return here.join() + others;
}

std::uint64_t solve(board b) {
  if (b.columns == b.all) return 1;
  const std::uint32_t free = b.all & ~(b.columns | b.rising | b.falling);
  return free == 0 ? 0 : place(b, free);
}

}  // namespace

std::uint64_t nqueens(std::uint64_t n) {
  return n == 0 ? 1 : solve({static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1), 0, 0, 0});
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
