// SPDX-License-Identifier: Apache-2.0
// Whether /proc here is about this process's own namespace. In a container without a /proc of its own it is absent, or
// has the numbers of the processes outside.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

namespace tobi::base {

[[nodiscard]] inline bool proc_is_own() {
  char self[32];
  const ssize_t length = readlink("/proc/self", self, sizeof self);
  return length > 0 && std::string_view(self, static_cast<std::size_t>(length)) == std::to_string(getpid());
}

}  // namespace tobi::base
