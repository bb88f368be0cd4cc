// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/answers.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>

#include "tools/bench/apps/lcs_table.hpp"
#include "tools/bench/trees.hpp"

namespace tobi_bench {

namespace {

// Ways to place n queens, n from 1 (the sequence A000170).
constexpr std::array<std::uint64_t, 20> queens{1,       0,        0,        2,         10,         4,          40,
                                               92,      352,      724,      2680,      14200,      73712,      365596,
                                               2279184, 14772512, 95815104, 666090624, 4968057848, 39029188884};

std::uint64_t fibonacci(std::uint64_t n) {
  std::uint64_t a = 0;
  std::uint64_t b = 1;
  for (; n > 0; --n) {
    const std::uint64_t next = a + b;
    a = b;
    b = next;
  }
  return a;
}

std::uint64_t tasks_of_btc(std::uint64_t depth, std::uint64_t iter) {
  std::uint64_t tasks = 1;
  for (std::uint64_t d = 0; d < depth; ++d) tasks = tasks * 2 * iter + 1;
  return tasks;
}

}  // namespace

double fib_forks(std::uint64_t n) { return static_cast<double>(fibonacci(n + 1)) - 1; }

std::uint64_t right_fib(const arguments& a) { return fibonacci(a.fib.n); }
std::uint64_t right_btc(const arguments& a) { return tasks_of_btc(a.btc.depth, a.btc.iter); }
std::uint64_t right_nqueens(const arguments& a) { return queens[a.nqueens.n - 1]; }
std::uint64_t right_pfor(const arguments& a) { return a.loop.k * a.loop.n; }
std::uint64_t right_recpfor(const arguments& a) {
  const std::uint64_t n = a.loop.n;
  return a.loop.k * n * static_cast<std::uint64_t>(std::bit_width(n) - 1) + n;
}
std::uint64_t right_lcs(const arguments& a) {
  static const std::uint64_t length = lcs_by_rows(static_cast<std::uint32_t>(a.lcs.n));
  return length;
}
std::uint64_t right_cilksort(const arguments& a) { return a.cilksort.n; }

std::optional<bool> known_answer(right_answer right, const arguments& a, std::uint64_t result,
                                 const tree_count& found) {
  if (right != nullptr) return result == right(a);
  if (a.tree.name.empty()) return std::nullopt;
  const named_tree& known = *find_tree(a.tree.name);
  return found.nodes == known.nodes && found.depth() == known.depth &&
         (known.leaves == 0 || found.leaves() == known.leaves);
}

std::string expectation(right_answer right, const arguments& a) {
  if (right != nullptr) return fmt::format("{} is right", right(a));
  const named_tree& known = *find_tree(a.tree.name);
  return fmt::format("{} nodes, {} leaves, depth {} are right", known.nodes, known.leaves, known.depth);
}

}  // namespace tobi_bench
