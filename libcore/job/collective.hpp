// SPDX-License-Identifier: Apache-2.0
// The calls that all ranks make together, in the same order. Each rank shows which one it is in, and the number of it;
// a rank that waits for another compares. So ranks that call different things are told of, and one that is merely late
// is not: its number is lower.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tobi::job {

enum class call : std::uint8_t {
  start,
  run,
  barrier,
  stats,
  reset_stats,
  allocate_all,
  free_all,
  set_read_only,
  set_writable,
  make_collection,
  process,
  rebalance,
  end_collection,
  on_all_workers,
  end_of_on_all_workers,
  gather,
  end
};

/// What a program calls it.
[[nodiscard]] std::string_view name_of(call which) noexcept;

/// A call and its number in one word, so that it is seen as a whole. Its low bits travel with barriers.
struct place {
  static constexpr int number_bits = 16;
  static constexpr int bits = number_bits + 8;
  static constexpr std::uint64_t mask = (std::uint64_t{1} << bits) - 1;

  std::uint64_t word = 0;

  [[nodiscard]] call which() const noexcept { return static_cast<call>(word & 0xff); }
  [[nodiscard]] std::uint64_t number() const noexcept { return word >> 8; }
  [[nodiscard]] std::uint64_t tag() const noexcept { return word & mask; }
  [[nodiscard]] place next(call what) const noexcept {
    return {(number() + 1) << 8 | static_cast<std::uint64_t>(what)};
  }
  /// The same call by number, and another one by kind. Where the numbers differ one of the two has yet to come.
  [[nodiscard]] bool contradicts(place other) const noexcept {
    return number() == other.number() && which() != other.which();
  }
};

/// "rank 1 is in rt.barrier() while ranks 0 and 2 are in tobi::run; ...".
struct rank_in {
  int rank;
  place at;
};
[[nodiscard]] std::string say_contradiction(int self, const std::vector<rank_in>& ranks);

}  // namespace tobi::job
