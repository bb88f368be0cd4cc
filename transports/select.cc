// The registry: one visible array, in order of preference, and the choice from it.
#include "libcore/base/log.hpp"
#include "transports/mpi/loader.hpp"
#include "transports/route/route.hpp"
#include "transports/self/self.hpp"
#include "transports/shm/shm.hpp"
#include "transports/sim/sim.hpp"
#include "transports/transport.hpp"
#ifdef TOBI_HAVE_OFI
#include "transports/ofi/ofi.hpp"
#include "transports/ofi/provider.hpp"
#endif
#ifdef TOBI_HAVE_VERBS
#include "transports/verbs/device.hpp"
#include "transports/verbs/verbs.hpp"
#endif
#include "transports/wrap/wrap.hpp"

namespace tobi::transports {

namespace {

#ifndef TOBI_HAVE_VERBS
namespace verbs {
std::string unusable(const context&) {
  return "this Tobiuo was built without libibverbs' headers (Debian's libibverbs-dev)";
}
constexpr auto create = nullptr;
constexpr auto devices = nullptr;
}  // namespace verbs
#endif
#ifndef TOBI_HAVE_OFI
namespace ofi {
std::string unusable(const context&) {
  return "this Tobiuo was built without libfabric's headers (Debian's libfabric-dev)";
}
constexpr auto create = nullptr;
constexpr auto devices = nullptr;
}  // namespace ofi
#endif

constexpr registry_entry entries[] = {
    {"self", "one worker alone, no fabric: the template for a port", self::unusable, self::create},
    {"shm", "workers of one node, by mapping each other's memory", shm::unusable, shm::create},
    {"verbs", "libibverbs: InfiniBand and RoCE devices", verbs::unusable, verbs::create, verbs::devices},
    {"ofi", "libfabric: the provider that serves this machine's fabric", ofi::unusable, ofi::create, ofi::devices},
    {"mpi", "MPI-3 RMA of Open MPI or MPICH, under their launchers", mpi::unusable, mpi::create, mpi::devices},
    {"sim", "a weak fabric between workers of one node, simulated from a seed, for tests", sim::unusable, sim::create,
     nullptr, false},
};

}  // namespace

std::span<const registry_entry> registry() { return entries; }

void check_names(const base::settings& in_force) {
  bool known = in_force.transport == "auto";
  std::string names;
  for (const registry_entry& entry : entries) {
    names.append(names.empty() ? "" : ", ").append(entry.name);
    known = known || entry.name == in_force.transport;
  }
  if (!known) {
    base::fatal("TOBI_TRANSPORT=" + in_force.transport + " is not auto or one of " + names + ".", base::exit_usage);
  }
  sim::modes ignored;
  std::string wrong = check_wrap(in_force);
  if (wrong.empty()) wrong = sim::read_modes(in_force, ignored);
  if (!wrong.empty()) base::fatal(wrong + ".", base::exit_usage);
}

std::unique_ptr<transport> select(std::string_view named, const context& where) {
  std::string names;
  std::string reasons;
  for (const registry_entry& entry : entries) {
    names.append(names.empty() ? "" : ", ").append(entry.name);
    if (named != "auto" ? named != entry.name : !entry.automatic) continue;
    const std::string why_not = entry.unusable(where);
    if (why_not.empty()) {
      base::log(base::log_level::info, "transport " + std::string(entry.name) + ": " +
                                           (named == "auto" ? "the first usable one" + reasons : "asked for") + ".");
      std::unique_ptr<transport> made = entry.create(where);
      if (!where.single_node()) made = route::with_shared_memory(where, std::move(made));
      return wrap(std::move(made), where);
    }
    if (named == entry.name) {
      base::fatal_everywhere(where.rank, "TOBI_TRANSPORT=" + std::string(named) + " cannot be used: " + why_not + ".",
                             base::exit_usage);
    }
    reasons.append("; ").append(entry.name).append(" is not: ").append(why_not);
  }
  if (named == "auto") base::fatal_everywhere(where.rank, "no transport can serve this job" + reasons + ".", 1);
  base::fatal("TOBI_TRANSPORT=" + std::string(named) + " is not auto or one of " + names + ".", base::exit_usage);
}

}  // namespace tobi::transports
