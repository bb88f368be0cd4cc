// SPDX-License-Identifier: Apache-2.0
// Inside a plugin: log() and fatal() are the host's.
#include <cstdlib>

#include "libcore/base/mpi_plugin.hpp"

namespace tobi::base {

namespace {
const host_services* host = nullptr;
}

void use_services(const host_services& of) noexcept { host = &of; }

bool log_enabled(log_level level) noexcept { return host->log_enabled(level); }
void log(log_level level, std::string_view message) { host->log(level, std::string(message).c_str()); }
void fatal(std::string_view message, int exit_status) {
  host->fatal(std::string(message).c_str(), exit_status);
  std::abort();  // the host does not return
}

}  // namespace tobi::base
