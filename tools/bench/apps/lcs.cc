// SPDX-License-Identifier: Apache-2.0
// The length of the longest common subsequence of two random strings of bytes (CLUSTER 2022, figures 10 and 11): blocks
// of the table as futures, split recursively down to blocks of C x C cells, in the dependence of a wavefront. A future
// of an inner block gives three futures of its quarters, one of a leaf the cells along its bottom and its right side.
#include <bit>
#include <cstdint>
#include <tobi/future.hpp>
#include <tobi/task.hpp>
#include <vector>

#include "tools/bench/apps/lcs_table.hpp"
#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

struct block {
  tobi::future<block> x01, x10, x11;  // of an inner block: those that its neighbours ask for
  lcs_edge bottom, right;             // of a leaf
};
using future_block = tobi::future<block>;

// In every process alike, before the run; only read by tasks.
lcs_strings strings;
std::uint32_t side = 0;
std::uint32_t leaf_side = 0;

// How often the block at (i, j) of N x N cells is joined: by the block to the right, the one below, the parent where it
// waits for this child, and by the root in the last corner.
std::uint32_t consumers(std::uint32_t i, std::uint32_t j, std::uint32_t n, bool parent_waits) {
  const bool last_row = i + n == side;
  const bool last_column = j + n == side;
  return (last_row ? 0u : 1u) + (last_column ? 0u : 1u) + (parent_waits ? 1u : 0u) +
         (last_row && last_column ? 1u : 0u);
}

block solve(std::uint32_t i, std::uint32_t j, future_block top, future_block left, std::uint32_t n);

future_block spawn_block(std::uint32_t i, std::uint32_t j, future_block top, future_block left, std::uint32_t n,
                         bool parent_waits = false) {
  return tobi::spawn_future([=] { return solve(i, j, top, left, n); }, consumers(i, j, n, parent_waits));
}

block solve(std::uint32_t i, std::uint32_t j, future_block top, future_block left, std::uint32_t n) {
  block mine{};
  if (n <= leaf_side) {
    if (top.valid()) mine.bottom = top.join().bottom;
    if (left.valid()) mine.right = left.join().right;
    lcs_leaf(strings, i, j, n, mine.bottom, mine.right);
    return mine;
  }
  future_block t10, t11, l01, l11;
  if (top.valid()) {
    const block above = top.join();
    t10 = above.x10;
    t11 = above.x11;
  }
  if (left.valid()) {
    const block before = left.join();
    l01 = before.x01;
    l11 = before.x11;
  }
  const std::uint32_t h = n / 2;
  const future_block x00 = spawn_block(i, j, t10, l01, h, true);
  mine.x01 = spawn_block(i, j + h, t11, x00, h);
  mine.x10 = spawn_block(i + h, j, x00, l11, h);
  mine.x11 = spawn_block(i + h, j + h, mine.x01, mine.x10, h);
  (void)x00.join();
  return mine;
}

}  // namespace

void lcs_prepare(std::uint64_t n, std::uint64_t c) {
  side = static_cast<std::uint32_t>(n);
  leaf_side = static_cast<std::uint32_t>(c);
  strings = lcs_strings(side);
}

std::uint64_t lcs() {
  block corner = solve(0, 0, {}, {}, side);
  while (corner.x11.valid()) corner = corner.x11.join();
  return corner.bottom.last();
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
