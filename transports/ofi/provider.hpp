// SPDX-License-Identifier: Apache-2.0
// Which provider, and what it was asked for.
#pragma once

#include <vector>

#include "transports/ofi/library.hpp"
#include "transports/transport.hpp"

namespace tobi::transports::ofi {

/// The endpoint to open: one fi_info, and whether it has the two atomics that the runtime needs. Null info: `error`
/// says why none can serve.
struct choice {
  info_list info;
  bool atomics = false;
  std::string error;
};
choice choose_provider(const context& where);
/// For tobi-info: each provider, what it can do, and why it cannot serve if so.
std::vector<device> devices();

}  // namespace tobi::transports::ofi
