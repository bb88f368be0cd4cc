// SPDX-License-Identifier: Apache-2.0
// MPI has no common binary interface, so what speaks MPI is compiled once for each library, as a plugin that is loaded
// when a job asks for it. Which one is a matter of the launcher: its processes can only be joined by its own library.
#pragma once

#include <string>
#include <vector>

#include "libcore/base/log.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/base/shared_library.hpp"

namespace tobi::base {

/// What a plugin uses of the program that loads it: its own copies of log() and fatal() would have no state.
struct host_services {
  void (*log)(log_level level, const char* message);
  bool (*log_enabled)(log_level level);
  void (*fatal)(const char* message, int exit_status);
};
const host_services& services() noexcept;
/// In a plugin alone (transports/mpi/plugin_services.cc): each of its entrances calls it before anything else.
void use_services(const host_services& of) noexcept;

struct mpi_plugin {
  std::string library;  // "openmpi" or "mpich"
  shared_library code;
  std::string error;  // why it cannot be used, or ""

  /// An extern "C" function of the plugin, or null.
  [[nodiscard]] void* find(const char* name) const noexcept { return code.find(name); }
};

/// The plugin for the launcher that started this process, or for TOBI_MPI. Loaded once.
const mpi_plugin& the_mpi_plugin(const settings& in_force);
/// Another plugin for the library of the_mpi_plugin(): "tobi-mpi" is that one's own name.
mpi_plugin load_mpi_plugin(const std::string& name, const std::string& library);
/// Both, for tobi-info; whatever started this process.
std::vector<mpi_plugin> all_mpi_plugins();
/// A launcher of an MPI library has started this process: mpirun, mpiexec.
[[nodiscard]] bool started_by_mpi() noexcept;

}  // namespace tobi::base
