// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/mpi/loader.hpp"

#include "libcore/base/mpi_plugin.hpp"
#include "libcore/base/text.hpp"

namespace tobi::bootstrap::mpi {

std::unique_ptr<exchange> join() {
  const base::mpi_plugin& plugin = base::the_mpi_plugin(base::read_settings());
  using maker = exchange* (*)(const base::host_services&);
  const auto make = reinterpret_cast<maker>(plugin.find("tobi_mpi_exchange"));
  if (make == nullptr) {
    const char* cure = plugin.library.empty() ? "." : "; install Tobiuo's plugins, and that MPI, on each host alike.";
    base::fatal("TOBI_BOOTSTRAP=mpi cannot be used: " + plugin.error + cure, base::exit_usage);
  }
  std::unique_ptr<exchange> joined(make(base::services()));
  base::set_log_identity(joined->rank());
  static exchange* for_hook = joined.get();
  base::set_fatal_hook([](int status) { for_hook->abort(status); });
  return joined;
}

std::string why_not() {
  std::string reasons;
  for (const base::mpi_plugin& p : base::all_mpi_plugins()) {
    if (p.error.empty()) return "";
    base::add_item(reasons, p.error, "; ");
  }
  return reasons;
}

}  // namespace tobi::bootstrap::mpi
