// Where an object of the registered heap is, in one word: which worker's, and how far into its heap region.
#pragma once

#include <cstdint>

namespace tobi::alloc {

/// {rank:16, offset:48}. Objects are aligned to 16 bytes, so the low four bits are free for tags. 0 is no location: the
/// start of a heap region is never an object.
struct location {
  static constexpr int offset_bits = 48;
  static constexpr int max_ranks = 1 << 16;

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

}  // namespace tobi::alloc
