// SPDX-License-Identifier: Apache-2.0
#include "tools/conform/fabric.hpp"

#include "transports/decorators/wrap.hpp"

namespace tobi::conformance {

std::unique_ptr<transports::transport> make_fabric(const transports::registry_entry& entry,
                                                   const transports::context& where) {
  return transports::wrap(transports::create(entry, where), where);
}

}  // namespace tobi::conformance
