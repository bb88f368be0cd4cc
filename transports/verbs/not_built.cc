// SPDX-License-Identifier: Apache-2.0
// verbs, where Tobiuo was built without libibverbs' headers.
#include "transports/port.hpp"

namespace tobi::transports::verbs {

port entry() {
  const auto why = [](const context&) -> std::string {
    return "this Tobiuo was built without libibverbs' headers (Debian's libibverbs-dev)";
  };
  return {.unusable = why, .create = nullptr};
}

}  // namespace tobi::transports::verbs
