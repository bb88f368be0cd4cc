// SPDX-License-Identifier: Apache-2.0
// A transport that pins memory, on a machine without a device that does: every page of what is registered is there from
// then on, and of memory that grows only what is in use is registered (memory::at_first). For TOBI_MASK=unpinned.
#pragma once

#include <memory>

#include "transports/transport.hpp"

namespace tobi::transports::decorators {

[[nodiscard]] std::unique_ptr<transport> pinning(std::unique_ptr<transport> inner);

}  // namespace tobi::transports::decorators
