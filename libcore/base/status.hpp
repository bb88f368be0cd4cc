// SPDX-License-Identifier: Apache-2.0
// Error classes of the whole project: an error is named by what died, so that a caller can tell
// what is left to work with (the classes of UCX's status.h, reduced to the ones we act on).
#pragma once

#include <cstdint>
#include <string_view>

namespace tobi {

enum class status : std::uint8_t {
  ok,           // done, or posted
  again,        // nothing was posted: make progress and call again
  unsupported,  // the capability is not claimed
  invalid,      // the arguments break the contract
  peer_lost,    // one peer is gone; the others can still be reached
  domain_lost,  // the device or the whole transport is gone
};

constexpr std::string_view to_string(status s) noexcept {
  constexpr std::string_view names[] = {"ok", "again", "unsupported", "invalid", "peer_lost", "domain_lost"};
  return names[static_cast<std::uint8_t>(s)];
}

}  // namespace tobi
