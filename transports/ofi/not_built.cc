// SPDX-License-Identifier: Apache-2.0
// ofi, where Tobiuo was built without libfabric's headers.
#include "transports/port.hpp"

namespace tobi::transports::ofi {

port entry() {
  const auto why = [](const context&) -> std::string {
    return "this Tobiuo was built without libfabric's headers (Debian's libfabric-dev)";
  };
  return {.unusable = why, .create = nullptr};
}

}  // namespace tobi::transports::ofi
