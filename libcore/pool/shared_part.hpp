// SPDX-License-Identifier: Apache-2.0
// The shared part of a queue, as thieves see it: one word.
//
//   W = {claims:24, count:20, first:20}
//
// The owner has offered COUNT tasks from ring place FIRST on. The k-th claim since then takes half of what the claims
// before it have left, rounded up: so a thief that adds one to CLAIMS, and reads what was there, knows from that alone
// which tasks it has. A steal is one fetch-and-add and one get, whatever its size, and thieves never hold a lock that
// others wait for. The HPDC'12 paper's steal (section 6, figure 4) takes a lock, moves `stail` and unlocks; its `split`
// and `stail` are both in W. That the portions follow from the number of the claim is the idea of "structured atomic
// work stealing" (Cartier, Dinan, Larkins: ICPP 2021).
//
// Only the owner changes COUNT and FIRST, by compare-and-swap, and sets CLAIMS to zero as it does: a claim that comes
// in between makes it fail, and it computes again. A claim that finds nothing left is no harm, but it counts. 2^24 of
// them would wrap: a thief that has met an empty part looks before it claims there again, so between two changes by the
// owner each other rank claims in vain once, and there are at most 2^20 ranks.
#pragma once

#include <cstdint>

namespace tobi::pool {

struct shared_part {
  static constexpr int place_bits = 20;
  static constexpr std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;
  static constexpr std::uint64_t one_claim = std::uint64_t{1} << (2 * place_bits);
  /// Tasks that a ring has at most.
  static constexpr std::uint64_t most = place_mask;

  std::uint64_t claims, count, first;

  static constexpr shared_part unpack(std::uint64_t word) noexcept {
    return {word >> (2 * place_bits), word >> place_bits & place_mask, word & place_mask};
  }
  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    return claims << (2 * place_bits) | count << place_bits | first;
  }
  /// How many of the tasks are claimed.
  [[nodiscard]] constexpr std::uint64_t claimed() const noexcept {
    std::uint64_t left = count;
    for (std::uint64_t c = 0; c < claims && left != 0; ++c) left /= 2;
    return count - left;
  }
  [[nodiscard]] constexpr std::uint64_t left() const noexcept { return count - claimed(); }
  /// How many tasks the next claim takes. They begin claimed() places behind `first`.
  [[nodiscard]] constexpr std::uint64_t next_portion() const noexcept { return (left() + 1) / 2; }
};

}  // namespace tobi::pool
