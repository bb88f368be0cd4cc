// SPDX-License-Identifier: Apache-2.0
// A text or some bytes in 64 bits (FNV-1a), to compare what many have without sending all of it: two that differ have
// equal digests once in 2^64. Nobody is kept from making equal ones on purpose.
#pragma once

#include <cstdint>
#include <string_view>

namespace tobi::base {

[[nodiscard]] constexpr std::uint64_t digest(std::string_view text) noexcept {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

}  // namespace tobi::base
