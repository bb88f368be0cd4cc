// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/shared_objects.hpp"

#include <string>

#include "libcore/base/log.hpp"
#include "libcore/net/free_remote.hpp"

namespace tobi::tasks {

void* shared_objects::need(std::size_t bytes, const char* what, std::size_t said) {
  void* fresh = own_->allocate(bytes);
  if (fresh == nullptr) {
    base::fatal(std::string("the registered heap is full: no room ") + what +
                (said == 0 ? "" : " of " + std::to_string(said) + " bytes") + "; raise TOBI_HEAP_SIZE.");
  }
  return fresh;
}

void shared_objects::free(net::location where) noexcept {
  if (net_->is_local(where)) {
    free_own(where);
  } else if (incoming_ != nullptr) {
    incoming_->free(where);
  } else {
    net::free_remote(*net_, where);
  }
}

}  // namespace tobi::tasks
