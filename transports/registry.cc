// SPDX-License-Identifier: Apache-2.0
#include "transports/registry.hpp"

#include "libcore/base/log.hpp"
#include "libcore/base/text.hpp"
#include "transports/decorators/mask.hpp"
#include "transports/decorators/settings.hpp"
#include "transports/decorators/wrap.hpp"
#include "transports/route/route.hpp"
#include "transports/soft/amo.hpp"
#include "transports/soft/settings.hpp"

// The transports, in order of preference: a row each. transports/NAME/ is the folder of NAME (PORTING.md).
// clang-format off
#define TOBI_TRANSPORTS(row) \
  row(self, "one worker alone, no fabric: the template for a port") \
  row(shm, "workers of one node, by mapping each other's memory") \
  row(utofu, "uTofu: the Tofu interconnects of Fujitsu's machines") \
  row(verbs, "libibverbs: InfiniBand and RoCE devices") \
  row(ofi, "libfabric: the provider that serves this machine's fabric") \
  row(mpi, "MPI-3 RMA of Open MPI or MPICH, under their launchers") \
  row(sim, "a weak fabric between workers of one node, simulated from a seed, for tests")
// clang-format on

namespace tobi::transports {

#define TOBI_DECLARED(folder, summary) \
  namespace folder {                   \
  port entry();                        \
  }
TOBI_TRANSPORTS(TOBI_DECLARED)
#undef TOBI_DECLARED

std::span<const registry_entry> registry() {
#define TOBI_ENTRY(folder, summary) registry_entry{folder::entry(), #folder, summary},
  static const registry_entry entries[] = {TOBI_TRANSPORTS(TOBI_ENTRY)};
#undef TOBI_ENTRY
  return entries;
}

namespace {

const registry_entry* find_entry(std::string_view name) noexcept {
  for (const registry_entry& entry : registry()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::string no_such(std::string_view name) {
  return "TOBI_TRANSPORT=" + std::string(name) + " is not auto or one of " +
         base::joined(registry(), &registry_entry::name) + ".";
}

std::string check_atomics(const base::settings& in_force) {
  if (!decorators::is_masked(in_force, "amo")) return "";
  if (in_force.of<soft::settings>().amo_server != soft::amo_place::native) return "";
  return "TOBI_MASK=" + in_force.of<decorators::settings>().mask +
         " takes the fabric's atomics away, and TOBI_AMO_SERVER=native wants no others; leave out one of them";
}

}  // namespace

void check_names(const base::settings& in_force) {
  if (in_force.transport != "auto" && find_entry(in_force.transport) == nullptr) {
    base::fatal(no_such(in_force.transport), base::exit_usage);
  }
  std::string wrong = check_wrap(in_force);
  if (wrong.empty()) wrong = decorators::check_mask(in_force);
  if (wrong.empty()) wrong = check_atomics(in_force);
  for (const registry_entry& entry : registry()) {
    if (wrong.empty() && entry.check != nullptr) wrong = entry.check(in_force);
  }
  if (!wrong.empty()) base::fatal(wrong + ".", base::exit_usage);
}

choice choose(std::string_view named, const context& where) {
  std::string reasons;
  for (const registry_entry& entry : registry()) {
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

bool is_created_together(std::string_view name) {
  const registry_entry* entry = find_entry(name);
  return entry != nullptr && entry->together;
}

std::unique_ptr<transport> create(const registry_entry& entry, const context& where) {
  if (!decorators::is_masked(where.settings, "amo")) return decorators::masked(entry.create(where), where.settings);
  context without = where;
  auto& place = without.settings.of<soft::settings>().amo_server;
  if (place == soft::amo_place::automatic) place = soft::amo_place::inline_;
  std::unique_ptr<transport> made = entry.create(without);
  // A port that knows software atomics has taken them.
  if (dynamic_cast<soft::amo_transport*>(made.get()) == nullptr) {
    made.reset();
    made = soft::with_amo_server(without, entry.create);
  }
  return decorators::masked(std::move(made), where.settings);
}

std::unique_ptr<transport> create(std::string_view name, const context& where) {
  const registry_entry* entry = find_entry(name);
  if (entry == nullptr) base::fatal("there is no transport " + std::string(name) + ".");
  std::unique_ptr<transport> made = create(*entry, where);
  // Without mapped peers those of a node are reached as those of others are.
  const bool by_memory = !where.single_node() && !decorators::is_masked(where.settings, "maps_peers");
  if (by_memory) made = route::with_shared_memory(where, std::move(made));
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
