// SPDX-License-Identifier: Apache-2.0
// Where an object of the registered heap is, in one word: which worker's, and how far into its heap region.
#pragma once

#include <cstdint>

namespace tobi::net {

/// {rank:20, offset:44}. Objects are aligned to 16 bytes, so the low four bits are free for tags. 0 is no location: the
/// start of a heap region is never an object. Other words that name a rank have as many bits for it.
struct location {
  static constexpr int rank_bits = 20;
  static constexpr int offset_bits = 64 - rank_bits;
  static constexpr int max_ranks = 1 << rank_bits;

  std::uint64_t word = 0;

  constexpr location() noexcept = default;
  constexpr explicit location(std::uint64_t w) noexcept : word(w) {}
  constexpr location(int rank, std::uint64_t offset) noexcept
      : word(static_cast<std::uint64_t>(rank) << offset_bits | offset) {}

  [[nodiscard]] constexpr int rank() const noexcept { return static_cast<int>(word >> offset_bits); }
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept {
    return word & ((std::uint64_t{1} << offset_bits) - 1);
  }
  constexpr explicit operator bool() const noexcept { return word != 0; }
  friend constexpr bool operator==(location, location) noexcept = default;
};

}  // namespace tobi::net
