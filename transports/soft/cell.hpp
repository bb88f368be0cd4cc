// SPDX-License-Identifier: Apache-2.0
// A message that needs no order: every 64-bit word of a cell carries seven bytes of it and, on top, the number of its
// turn. A transport promises only that aligned words do not tear; the cell has arrived when all of its words say the
// same turn. So one put sends a message, where payload and flag would take two and a wait between.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tobi::transports::soft {

inline constexpr std::size_t word_payload = 7;

/// Turns of a slot: 1..255 and round again, so that fresh memory is no message. A slot is written again only after its
/// last message was read, so 255 turns cannot be mixed up.
constexpr std::uint8_t turn_of(std::uint64_t index, std::uint64_t slots) noexcept {
  return static_cast<std::uint8_t>(index / slots % 255 + 1);
}

template <class Payload>
struct cell {
  static_assert(std::is_trivially_copyable_v<Payload>);
  static constexpr std::size_t words = (sizeof(Payload) + word_payload - 1) / word_payload;
  std::uint64_t word[words];

  static cell pack(const Payload& message, std::uint8_t turn) noexcept {
    cell c{};
    const auto* bytes = reinterpret_cast<const unsigned char*>(&message);
    for (std::size_t i = 0; i < words; ++i) {
      std::uint64_t w = 0;
      for (std::size_t b = 0; b < word_payload && i * word_payload + b < sizeof(Payload); ++b) {
        w |= static_cast<std::uint64_t>(bytes[i * word_payload + b]) << (8 * b);
      }
      c.word[i] = w | static_cast<std::uint64_t>(turn) << 56;
    }
    return c;
  }
  /// Whether the message of TURN is here; if so MESSAGE is it. Acquire: what its sender had made visible before it sent
  /// this is visible.
  bool unpack(std::uint8_t turn, Payload& message) noexcept {
    std::uint64_t seen[words];
    for (std::size_t i = 0; i < words; ++i) {
      seen[i] = std::atomic_ref(word[i]).load(std::memory_order_acquire);
      if (seen[i] >> 56 != turn) return false;
    }
    auto* bytes = reinterpret_cast<unsigned char*>(&message);
    for (std::size_t i = 0; i < sizeof(Payload); ++i) {
      bytes[i] = static_cast<unsigned char>(seen[i / word_payload] >> (8 * (i % word_payload)));
    }
    return true;
  }
};

}  // namespace tobi::transports::soft
