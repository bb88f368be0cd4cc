// SPDX-License-Identifier: Apache-2.0
#include "tests/emulators/fabric/rules.hpp"

#include <rdma/fi_errno.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "tests/emulators/fabric/profile.hpp"

namespace tobi::emulators::fabric {

int broken(const char* page, const std::string& what) { return broken(page, what, -FI_EINVAL); }

int broken(const char* page, const std::string& what, int error) {
  const std::string line =
      "strict fabric (emulated, profile " + in_force().name + "): " + what + "; see " + page + ".\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  const char* then = std::getenv("FI_STRICT_BROKEN");
  if (then == nullptr || std::string_view(then) != "error") std::abort();
  return error;
}

}  // namespace tobi::emulators::fabric
