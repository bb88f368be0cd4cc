// SPDX-License-Identifier: Apache-2.0
// A region's key has parts: the fabric's own, own_key_bytes_max of them; behind it that of soft atomics; routing keeps
// the key of shared memory in what is left. A port that writes more than its part would be overwritten without a word,
// so those that write behind it look.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

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

}  // namespace tobi::transports
