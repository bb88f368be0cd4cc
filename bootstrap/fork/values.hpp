// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job have put, as the processes of one client share it: once a node where there is one client, and
// not once a process. A rank has one word here, then what it has put, and nothing more: of a hundred thousand
// ranks that put 200 bytes each, 20 MB for all processes of the client together.
//
// Values are only added. A rank's are a list, the newest first, with one writer: the rank itself or, for ranks of other
// clients, the head. Readers take no lock, at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tobi::bootstrap::forked {

class values {
 public:
  /// Bytes of shared memory that RANKS need, most of which are never touched.
  [[nodiscard]] static std::size_t bytes_for(std::uint32_t ranks) noexcept {
    return sizeof(head) + sizeof(word) + ranks * (sizeof(word) + room_per_rank);
  }
  /// AT: zeroed memory, shared by all that use it.
  values(void* at, std::uint32_t ranks) noexcept : head_(*static_cast<head*>(at)), ranks_(ranks) {}

  /// Fatal where there is no more room.
  void put(std::uint32_t rank, std::string_view key, std::span<const std::byte> value);
  /// False: RANK has put nothing under KEY, as far as is known here.
  [[nodiscard]] bool find(std::uint32_t rank, std::string_view key, std::vector<std::byte>& into) const;

  /// Where RANK's list begins now.
  [[nodiscard]] std::uint32_t newest(std::uint32_t rank) const noexcept {
    return newest_of(rank).load(std::memory_order_acquire);
  }
  /// Adds to INTO what RANK has put since its list began with SINCE (0: all), for add().
  void collect(std::uint32_t rank, std::uint32_t since, std::vector<std::byte>& into) const;
  /// Puts for other ranks what collect() has made.
  void add(std::span<const std::byte> collected);

 private:
  static constexpr std::size_t room_per_rank = 16 * 1024;
  static constexpr std::size_t unit = 8;  // places are counted in these, from 1 on: 32 bits name 32 GB
  using word = std::atomic<std::uint32_t>;
  struct head {
    std::atomic<std::uint64_t> used;  // units
  };
  struct entry {
    std::uint32_t older;  // 0: none
    std::uint32_t key_bytes;
    std::uint32_t value_bytes;
  };
  // A value on its way between clients; key and value follow.
  struct parcel {
    std::uint32_t rank;
    std::uint32_t key_bytes;
    std::uint32_t value_bytes;
  };

  [[nodiscard]] word& newest_of(std::uint32_t rank) const noexcept { return reinterpret_cast<word*>(&head_ + 1)[rank]; }
  [[nodiscard]] std::byte* at(std::uint32_t place) const noexcept {
    auto* const first = reinterpret_cast<std::byte*>(&newest_of(ranks_ + ranks_ % 2));
    return first + (std::size_t{place} - 1) * unit;
  }

  head& head_;
  std::uint32_t ranks_;
};

}  // namespace tobi::bootstrap::forked
