// SPDX-License-Identifier: Apache-2.0
// The transport that the rules are asked of. Apart, so that tests/conform can ask them of one that breaks the contract.
#pragma once

#include <memory>

#include "transports/registry.hpp"

namespace tobi::conformance {

std::unique_ptr<transports::transport> make_fabric(const transports::registry_entry& entry,
                                                   const transports::context& where);

}  // namespace tobi::conformance
