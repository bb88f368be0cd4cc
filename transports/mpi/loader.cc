// SPDX-License-Identifier: Apache-2.0
// mpi: MPI-3 RMA, as a fallback where nothing else drives the fabric. Loaded as a plugin for the library whose launcher
// started the job (libcore/base/mpi_plugin.hpp).
#include "libcore/base/mpi_plugin.hpp"
#include "transports/port.hpp"
#include "transports/soft/amo.hpp"
#include "transports/soft/settings.hpp"

namespace tobi::transports::mpi {

namespace {

std::string unusable(const context& where) { return base::the_mpi_plugin(where.settings).error; }

std::unique_ptr<transport> create(const context& where) {
  const base::mpi_plugin& plugin = base::the_mpi_plugin(where.settings);
  using maker = transport* (*)(const base::host_services&, const context&);
  const auto make = reinterpret_cast<maker>(plugin.find("tobi_mpi_transport"));
  if (make == nullptr) base::fatal("mpi cannot be used: " + plugin.error + ".", base::exit_usage);
  const soft::amo_place place = where.settings.of<soft::settings>().amo_server;
  if (place == soft::amo_place::thread) {
    base::fatal_everywhere(
        where.rank,
        "TOBI_AMO_SERVER=thread cannot be used with mpi, whose library serves one thread; use inline or auto.",
        base::exit_usage);
  }
  std::unique_ptr<transport> made(make(base::services(), where));
  // Atomics that the target executes when it polls are our own messages' business too, and those do not depend on how a
  // library emulates them: Open MPI 4.1 crashes in a compare-and-swap on its own rank's dynamic window.
  const bool own = made->caps().passive_amo && place == soft::amo_place::automatic;
  if (own || place == soft::amo_place::native) return made;
  return soft::with_amo_server(where, [&](const context&) { return std::move(made); });
}

std::vector<device> devices() {
  std::vector<device> rows;
  for (const base::mpi_plugin& p : base::all_mpi_plugins()) {
    using teller = const char* (*)();
    const auto version = reinterpret_cast<teller>(p.find("tobi_mpi_version"));
    rows.push_back({p.library, version == nullptr ? "" : version(), p.error});
  }
  return rows;
}

}  // namespace

port entry() { return {.unusable = unusable, .create = create, .devices = devices, .together = true}; }

}  // namespace tobi::transports::mpi
