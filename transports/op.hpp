// SPDX-License-Identifier: Apache-2.0
// One-sided operations, as values: what transport::post() takes.
#pragma once

#include <cstdint>

namespace tobi::transports {

/// A region of a peer, attached. Small and dense: the caller indexes tables with it.
using region_id = std::uint32_t;

enum class op_kind : std::uint8_t { put, get, fetch_add, compare_swap };

/// One operation. `remote` is a byte offset in the peer's region. Atomics work on one aligned 64-bit
/// word and write the value found there to `local`.
struct op {
  op_kind kind = op_kind::get;
  bool guard = false;  // compare_swap: when it fails the initiator needs nothing of what follows in
                       // the chain, so a transport that can stop there may
  region_id region = 0;
  std::uint64_t remote = 0;
  void* local = nullptr;       // put: source; get: destination; atomics: the value found
  std::uint64_t bytes = 0;     // put, get
  std::uint64_t operand = 0;   // fetch_add: what is added; compare_swap: what is stored
  std::uint64_t expected = 0;  // compare_swap

  /// BYTES at FROM go to AT. They must stay until the operation is complete.
  [[nodiscard]] static constexpr op put(region_id region, std::uint64_t at, const void* from,
                                        std::uint64_t bytes) noexcept {
    return {op_kind::put, false, region, at, const_cast<void*>(from), bytes, 0, 0};
  }
  [[nodiscard]] static constexpr op get(region_id region, std::uint64_t at, void* to, std::uint64_t bytes) noexcept {
    return {op_kind::get, false, region, at, to, bytes, 0, 0};
  }
  /// Adds OPERAND to the word at AT; OLD is what it was.
  [[nodiscard]] static constexpr op add(region_id region, std::uint64_t at, std::uint64_t operand, void* old) noexcept {
    return {op_kind::fetch_add, false, region, at, old, 8, operand, 0};
  }
  /// Stores DESIRED in the word at AT if that is EXPECTED; OLD is what it was.
  [[nodiscard]] static constexpr op cas(region_id region, std::uint64_t at, std::uint64_t expected,
                                        std::uint64_t desired, void* old) noexcept {
    return {op_kind::compare_swap, false, region, at, old, 8, desired, expected};
  }
  /// The same operation as a guard.
  [[nodiscard]] constexpr op guarding() const noexcept {
    op same = *this;
    same.guard = true;
    return same;
  }
};

}  // namespace tobi::transports
