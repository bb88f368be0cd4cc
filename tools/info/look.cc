// SPDX-License-Identifier: Apache-2.0
// A look at a transport, or at the ways to start a job: what they say of themselves.
#include <array>

#include "bootstrap/bootstrap.hpp"
#include "tools/info/probe.hpp"
#include "transports/route/route.hpp"

namespace tobi_info {

namespace {

namespace transports = tobi::transports;

json capabilities_json(const transports::capabilities& c) {
  const std::array<const char*, 3> scopes{"none", "domain", "host"};
  return {{"put_notify", c.put_notify},
          {"fetch_add", c.fetch_add},
          {"compare_swap", c.compare_swap},
          {"passive_rma", c.passive_rma},
          {"passive_amo", c.passive_amo},
          {"amo_in_calls", c.amo_in_calls},
          {"needs_progress", c.needs_progress},
          {"maps_peers", c.maps_peers},
          {"registers_any_memory", c.registers_any_memory},
          {"ordered_gets", c.ordered_gets},
          {"has_wait_fd", c.has_wait_fd},
          {"peer_errors", c.peer_errors},
          {"pins_memory", c.pins_memory},
          {"any_thread", c.any_thread},
          {"amo_scope", scopes[static_cast<std::size_t>(c.scope)]},
          {"chain_max", c.chain_max},
          {"inline_max", c.inline_max},
          {"put_max", c.put_max},
          {"peers_max", c.peers_max},
          {"msg_max", c.msg_max}};
}

}  // namespace

bool opens_as_the_launchers(std::string_view transport) { return transport == "mpi" && tobi::bootstrap::launched(); }

void list_ways(const teller& tell) {
  json rows = json::array();
  for (const tobi::bootstrap::way& w : tobi::bootstrap::ways()) {
    rows.push_back({{"kind", "bootstrap"},
                    {"name", w.name},
                    {"summary", w.summary},
                    {"facts", w.facts},
                    {"usable", w.why_not.empty()},
                    {"why_not", w.why_not}});
  }
  tell({{"ways", rows}});
}

// The transport is asked about the job that would run here. One that serves only a lone worker is asked about that too,
// since its capabilities are of interest all the same.
void look(const transports::registry_entry& entry, const job_here& job, const teller& tell) {
  transports::context where = job.context();
  tell({{"step", "it was asked whether it can be used"}});
  const std::string why_not = entry.unusable(where);
  tell({{"usable", why_not.empty()}, {"why_not", why_not}});
  tell({{"pair_why_not", entry.unusable(job.context(2))}});
  if (entry.devices != nullptr) {
    tell({{"step", "its devices were listed"}});
    json rows = json::array();
    for (const transports::device& d : entry.devices()) {
      rows.push_back({{"name", d.name}, {"facts", d.facts}, {"usable", d.why_not.empty()}, {"why_not", d.why_not}});
    }
    tell({{"devices", rows}});
  }
  if (opens_as_the_launchers(entry.name)) return;
  if (!why_not.empty()) where = job.context(1);
  if (!why_not.empty() && !entry.unusable(where).empty()) return;
  tell({{"step", "it was opened"}});
  std::unique_ptr<transports::transport> made = transports::create(entry, where);
  tell({{"capabilities", capabilities_json(made->caps())}, {"describe", made->describe()}});
  if (where.single_node()) return;
  made = transports::route::with_shared_memory(where, std::move(made));
  tell({{"route", made->describe()}});
}

}  // namespace tobi_info
