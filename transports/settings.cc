// SPDX-License-Identifier: Apache-2.0
// The settings that the folders of this one declare, for the one table of them all. They need no fabric's headers: a
// program that was built without a fabric knows its settings all the same. transports/module.mk finds the folders.
#include "libcore/base/setting_rules.hpp"
#include "transports/found_settings.hpp"

namespace tobi::base {

std::span<const std::span<const setting>> settings_above() noexcept {
  static constexpr std::span<const setting> all[] = {TOBI_FOUND_SETTINGS};
  return all;
}

}  // namespace tobi::base
