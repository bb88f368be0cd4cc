// SPDX-License-Identifier: Apache-2.0
#include "transports/registry.hpp"

#include "libcore/base/log.hpp"
#include "libcore/base/text.hpp"
#include "transports/decorators/wrap.hpp"
#include "transports/mpi/loader.hpp"
#include "transports/route/route.hpp"
#include "transports/self/self.hpp"
#include "transports/shm/shm.hpp"
#include "transports/sim/sim.hpp"
#ifdef TOBI_HAVE_OFI
#include "transports/ofi/ofi.hpp"
#include "transports/ofi/provider.hpp"
#endif
#ifdef TOBI_HAVE_VERBS
#include "transports/verbs/device.hpp"
#include "transports/verbs/verbs.hpp"
#endif

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

const registry_entry* find_entry(std::string_view name) noexcept {
  for (const registry_entry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::string no_such(std::string_view name) {
  return "TOBI_TRANSPORT=" + std::string(name) + " is not auto or one of " +
         base::joined(entries, &registry_entry::name) + ".";
}

}  // namespace

std::span<const registry_entry> registry() { return entries; }

void check_names(const base::settings& in_force) {
  if (in_force.transport != "auto" && find_entry(in_force.transport) == nullptr) {
    base::fatal(no_such(in_force.transport), base::exit_usage);
  }
  sim::modes ignored;
  std::string wrong = check_wrap(in_force);
  if (wrong.empty()) wrong = sim::read_modes(in_force, ignored);
  if (!wrong.empty()) base::fatal(wrong + ".", base::exit_usage);
}

choice choose(std::string_view named, const context& where) {
  std::string reasons;
  for (const registry_entry& entry : entries) {
    if (named != "auto" ? named != entry.name : !entry.automatic) continue;
    const std::string why_not = entry.unusable(where);
    if (why_not.empty()) {
      base::log(base::log_level::info, "transport " + std::string(entry.name) + ": " +
                                           (named == "auto" ? "the first usable one" + reasons : "asked for") + ".");
      return {std::string(entry.name), ""};
    }
    if (named == entry.name) return {"", "TOBI_TRANSPORT=" + std::string(named) + " cannot be used: " + why_not + "."};
    reasons.append("; ").append(entry.name).append(" is not: ").append(why_not);
  }
  if (named == "auto") return {"", "no transport can serve this job" + reasons + "."};
  return {"", no_such(named)};
}

std::string why_not_here(std::string_view name, const context& where) {
  const registry_entry* entry = find_entry(name);
  return entry == nullptr ? "this rank does not know it" : entry->unusable(where);
}

std::unique_ptr<transport> create(std::string_view name, const context& where) {
  const registry_entry* entry = find_entry(name);
  if (entry == nullptr) base::fatal("there is no transport " + std::string(name) + ".");
  std::unique_ptr<transport> made = entry->create(where);
  if (!where.single_node()) made = route::with_shared_memory(where, std::move(made));
  return wrap(std::move(made), where);
}

std::unique_ptr<transport> select(std::string_view named, const context& where) {
  const choice mine = choose(named, where);
  if (mine.name.empty()) {
    base::fatal_everywhere(where.rank, mine.why_not, named == "auto" ? base::exit_failure : base::exit_usage);
  }
  return create(mine.name, where);
}

}  // namespace tobi::transports
