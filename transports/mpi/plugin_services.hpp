// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/base/mpi_plugin.hpp"

namespace tobi::base {
/// Called by each entrance of a plugin before anything else.
void use_services(const host_services& of) noexcept;
}  // namespace tobi::base
