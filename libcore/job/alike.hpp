// SPDX-License-Identifier: Apache-2.0
// What must be equal on all ranks and cannot be given by rank 0, because each machine has what it has: what the
// transport found there, and where the memory lies. All ranks compare digests of it before anybody connects; it travels
// itself only where those differ, for the sentence that says in what.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "alloc/segment.hpp"
#include "transports/transport.hpp"

namespace tobi::job {

struct alike {
  std::array<char, 16> transport{};
  std::array<char, 48> dialect{};
  std::uint64_t memory_at = 0;
  std::uint64_t heap_bytes = 0;
  std::uint64_t heap_at_first = 0;
  std::uint64_t stack_at = 0;
  std::uint64_t stack_bytes = 0;
  std::uint32_t chain_max = 0;
  transports::amo_scope scope = transports::amo_scope::none;
  bool fetch_add = false;
  bool compare_swap = false;
  bool passive_rma = false;
  bool passive_amo = false;
  bool needs_progress = false;
  std::array<std::uint8_t, 6> unused{};  // so that all bytes count

  bool operator==(const alike&) const = default;
};
static_assert(std::has_unique_object_representations_v<alike>);
/// Equal where the ranks are alike.
[[nodiscard]] std::uint64_t digest_of(const alike& found) noexcept;
[[nodiscard]] alike of_this_rank(const transports::transport& fabric, const alloc::segment& memory);

/// "" or one sentence about the first thing in which THEIRS differs from what FIRST, rank 0, has.
[[nodiscard]] std::string difference(const alike& first, const alike& theirs, const std::string& first_name,
                                     const std::string& their_name);

}  // namespace tobi::job
