// SPDX-License-Identifier: Apache-2.0
// The settings that the folders of this one declare, for the one table of them all. They need no fabric's headers: a
// program that was built without a fabric knows its settings all the same.
#include "transports/decorators/settings.hpp"

#include "libcore/base/setting_rules.hpp"
#include "transports/ofi/settings.hpp"
#include "transports/sim/settings.hpp"
#include "transports/soft/settings.hpp"
#include "transports/verbs/settings.hpp"

namespace tobi::base {

std::span<const std::span<const setting>> settings_above() noexcept {
  static constexpr std::span<const setting> all[] = {transports::decorators::setting_rows,
                                                     transports::soft::setting_rows, transports::verbs::setting_rows,
                                                     transports::ofi::setting_rows, transports::sim::setting_rows};
  return all;
}

}  // namespace tobi::base
