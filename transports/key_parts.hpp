// SPDX-License-Identifier: Apache-2.0
// A region's key has parts: the fabric's own, own_key_bytes_max of them; behind it that of soft atomics; routing keeps
// the key of shared memory in what is left. A port that writes more than its part would be overwritten without a word,
// so those that write behind it look.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "libcore/base/log.hpp"
#include "transports/transport.hpp"

namespace tobi::transports {

/// The fabric's own part and that of soft atomics.
inline constexpr std::size_t soft_key_bytes_max = 80;

/// Whether nothing of KEY is written but its first PART bytes.
[[nodiscard]] inline bool keeps_to(std::size_t part, const region_key& key) noexcept {
  return std::all_of(key.bytes.begin() + static_cast<std::ptrdiff_t>(part), key.bytes.end(),
                     [](std::byte b) { return b == std::byte{}; });
}

inline void must_keep_to(std::size_t part, const region_key& key, const transport& by) {
  if (keeps_to(part, key)) return;
  base::fatal(std::string(by.name()) + ": register_memory() has written more than the first " + std::to_string(part) +
              " bytes of a region's key; the rest is not its own (transports/PORTING.md).");
}

namespace detail {
inline std::uint64_t check_of(const std::byte* words, std::size_t bytes) noexcept {
  std::uint64_t sum = 0x165667b19e3779f9u;
  for (std::size_t i = 0; i < bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, words + i, 8);
    sum = (std::rotl(sum, 23) ^ word) * 0x9e3779b97f4a7c15u;
  }
  return sum;
}
}  // namespace detail

/// A key with CONTENT and a check word behind it. Keys come from outside: what was not sealed is refused, except by
/// design (STRANGERS.md). Two registrations need contents that differ.
template <class Content>
[[nodiscard]] region_key sealed(const Content& content) noexcept {
  static_assert(std::has_unique_object_representations_v<Content> && sizeof(Content) % 8 == 0);
  static_assert(sizeof(Content) + 8 <= own_key_bytes_max);
  region_key key;
  std::memcpy(key.bytes.data(), &content, sizeof content);
  const std::uint64_t check = detail::check_of(key.bytes.data(), sizeof content);
  std::memcpy(key.bytes.data() + sizeof content, &check, sizeof check);
  return key;
}

/// What sealed() was given, or nothing where KEY is no such key. What lies behind its part of KEY is not looked at.
template <class Content>
[[nodiscard]] std::optional<Content> unsealed(const region_key& key) noexcept {
  std::uint64_t check = 0;
  std::memcpy(&check, key.bytes.data() + sizeof(Content), sizeof check);
  if (check != detail::check_of(key.bytes.data(), sizeof(Content))) return std::nullopt;
  Content content;
  std::memcpy(&content, key.bytes.data(), sizeof content);
  return content;
}

}  // namespace tobi::transports
