// SPDX-License-Identifier: Apache-2.0
// The invariants of a protocol as code. A class whose header numbers them states those that its owner can see in
// `bool is_valid() const noexcept`, one holds() each, and calls expect_valid() at the end of its slow paths.
#pragma once

#include <string>
#include <string_view>

#include "libcore/base/log.hpp"

namespace tobi::base {

#ifdef TOBI_INVARIANTS
inline constexpr bool looks_at_invariants = true;  // MODE=debug, asan and tsan
#else
inline constexpr bool looks_at_invariants = false;
#endif

/// Whether CONDITION holds, which the header calls NAME. Where it does not, a line says so.
[[nodiscard]] inline bool holds(std::string_view name, bool condition) noexcept {
  if (condition) [[likely]] {
    return true;
  }
  log(log_level::error, std::string(name) + " does not hold.");
  return false;
}

/// Ends the job where PROTOCOL's invariants do not hold, in a build that looks at them. No code in a release.
template <class Protocol>
void expect_valid(const Protocol& protocol) noexcept {
  if constexpr (looks_at_invariants) {
    TOBI_ASSERT(protocol.is_valid(), "the invariants of this class hold at the end of its slow paths");
  }
}

}  // namespace tobi::base
