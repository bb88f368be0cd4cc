// SPDX-License-Identifier: Apache-2.0
// The table of the longest common subsequence: its strings, one block of it, and the whole of it row by row.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace tobi_bench {

inline constexpr std::uint32_t lcs_leaf_max = 1024;

/// The cells along a side of a block. Neighbouring cells differ by 0 or 1, so a side is its first corner, which lies
/// outside of it, and a bit per cell.
struct lcs_edge {
  std::uint32_t corner = 0;
  std::array<std::uint64_t, lcs_leaf_max / 64> steps{};

  [[nodiscard]] std::uint32_t step(std::uint32_t k) const noexcept { return steps[k / 64] >> (k % 64) & 1u; }
  void set_step(std::uint32_t k, std::uint32_t by) noexcept { steps[k / 64] |= std::uint64_t{by} << (k % 64); }
  [[nodiscard]] std::uint64_t last() const noexcept {
    std::uint64_t value = corner;
    for (const std::uint64_t word : steps) value += static_cast<std::uint64_t>(std::popcount(word));
    return value;
  }
};

struct lcs_strings {
  std::vector<std::uint8_t> a, b;

  lcs_strings() = default;
  /// N random bytes each, the same in every process.
  explicit lcs_strings(std::uint32_t n) : a(n), b(n) {
    std::uint64_t state = 0x9e3779b97f4a7c15u;
    const auto next = [&state] {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      return static_cast<std::uint8_t>(state >> 32);
    };
    for (auto& c : a) c = next();
    for (auto& c : b) c = next();
  }
};

/// The block of N x N cells at (I, J), N at most lcs_leaf_max: from the cells above it and to its left to those along
/// its bottom and its right side, in place.
inline void lcs_leaf(const lcs_strings& s, std::uint32_t i, std::uint32_t j, std::uint32_t n, lcs_edge& top_to_bottom,
                     lcs_edge& left_to_right) {
  std::array<std::uint32_t, lcs_leaf_max> row;
  const std::uint32_t top_left = top_to_bottom.corner;
  std::uint32_t value = top_left;
  for (std::uint32_t k = 0; k < n; ++k) row[k] = value += top_to_bottom.step(k);
  lcs_edge right{};
  right.corner = row[n - 1];
  std::uint32_t left_above = top_left;
  for (std::uint32_t r = 0; r < n; ++r) {
    const std::uint8_t letter = s.a[i + r];
    const std::uint32_t above_right = row[n - 1];
    const std::uint32_t left_here = left_above + left_to_right.step(r);
    std::uint32_t diagonal = left_above;
    std::uint32_t left = left_here;
    for (std::uint32_t k = 0; k < n; ++k) {
      const std::uint32_t above = row[k];
      left = letter == s.b[j + k] ? diagonal + 1 : left > above ? left : above;
      diagonal = above;
      row[k] = left;
    }
    right.set_step(r, row[n - 1] - above_right);
    left_above = left_here;
  }
  lcs_edge bottom{};
  bottom.corner = left_above;
  for (std::uint32_t k = 0; k < n; ++k) bottom.set_step(k, row[k] - (k == 0 ? left_above : row[k - 1]));
  top_to_bottom = bottom;
  left_to_right = right;
}

/// The same length by one row of the whole table after the other: what the blocks are checked against.
inline std::uint64_t lcs_by_rows(std::uint32_t n) {
  const lcs_strings s(n);
  std::vector<std::uint32_t> row(n + 1, 0);
  for (const std::uint8_t letter : s.a) {
    std::uint32_t diagonal = 0;
    for (std::uint32_t k = 1; k <= n; ++k) {
      const std::uint32_t above = row[k];
      row[k] = letter == s.b[k - 1] ? diagonal + 1 : row[k - 1] > above ? row[k - 1] : above;
      diagonal = above;
    }
  }
  return row[n];
}

}  // namespace tobi_bench
