// SPDX-License-Identifier: Apache-2.0
#include "tools/info/gather.hpp"

#include <unistd.h>

#include <array>

#include "arch/clock.hpp"
#include "arch/pages.hpp"
#include "arch/topology.hpp"
#include "libcore/base/log.hpp"
#include "tools/info/child.hpp"
#include "tools/provenance.hpp"
#include "transports/registry.hpp"

namespace tobi_info {

namespace {

namespace arch = tobi::arch;
namespace base = tobi::base;
namespace transports = tobi::transports;

// "unlimited" is no number: null.
json limit_json(std::uint64_t bytes) { return bytes == arch::unlimited ? json(nullptr) : json(bytes); }

}  // namespace

job_here read_job() {
  job_here job{base::read_settings(), 0};
  job.workers = job.settings.workers;
  const int cores = arch::worker_cores();
  if (job.workers == 0) {
    job.workers = cores;
  } else if (const std::string why = arch::too_many_workers(job.workers, cores, 0); !why.empty()) {
    base::fatal(why, base::exit_usage);
  }
  std::string names = "auto";
  for (const transports::registry_entry& entry : transports::registry()) names.append(", ").append(entry.name);
  if ((", " + names + ",").find(", " + job.settings.transport + ",") == std::string::npos) {
    base::fatal("TOBI_TRANSPORT=" + job.settings.transport + " is not one of " + names + ".", base::exit_usage);
  }
  return job;
}

// As the job itself splits its workers (libcore/job): TOBI_NODES makes equal runs of ranks.
transports::context job_here::context(int size) const {
  transports::context where{0, size != 0 ? size : workers, {}, settings};
  if (size != 0 || settings.nodes <= 1 || settings.nodes > workers) return where;
  for (int r = 0; r < workers; ++r) {
    where.nodes.push_back(static_cast<int>(static_cast<std::int64_t>(r) * settings.nodes / workers));
  }
  return where;
}

json machine_json(const job_here& job) {
  const arch::machine& m = arch::this_machine();
  json cores = json::array();
  for (const arch::core& c : m.cores) {
    cores.push_back({{"cpu", c.os_cpu}, {"core", c.id}, {"l3", c.l3}, {"numa", c.numa}, {"package", c.package}});
  }
  return {{"kind", "machine"},
          {"host", base::host_name()},
          {"kernel", tobi_tools::kernel()},
          {"cpu", m.cpu_model},
          {"cores_usable", m.cores.size()},
          {"cores_total", m.cores_total},
          {"cpu_quota", m.cpu_quota > 0 ? json(m.cpu_quota) : json(nullptr)},
          {"workers", job.workers},
          {"cores", cores},
          {"topology_error", m.error},
          {"counter_mhz", 1000 / arch::ns_per_cycle()},
          {"memory_bytes", m.memory_bytes},
          {"memory_available_bytes", limit_json(arch::available_memory())}};
}

json pages_json() {
  const arch::page_facts p = arch::read_pages();
  json huge = json::array();
  for (const arch::huge_pages& h : p.huge) {
    huge.push_back({{"bytes", h.page_bytes}, {"total", h.total}, {"free", h.free}, {"memfd", h.memfd}});
  }
  return {{"kind", "pages"},
          {"page_bytes", p.page_bytes},
          {"huge", huge},
          {"transparent", p.transparent},
          {"transparent_shared", p.transparent_shared},
          {"locked_limit_bytes", limit_json(p.locked_limit)},
          {"locked_limit_hard_bytes", limit_json(p.locked_limit_hard)}};
}

// Launchers have libraries too: a child loads them.
std::vector<json> bootstraps_json() {
  constexpr int seconds = 10;
  std::string trouble;
  const json found = child("ways").collect(seconds, trouble);
  std::vector<json> lines;
  for (const json& way : found.value("ways", json::array())) lines.push_back(way);
  if (!trouble.empty()) {
    lines.push_back({{"kind", "bootstrap"},
                     {"name", "launchers"},
                     {"summary", "what the libraries of launchers say"},
                     {"facts", ""},
                     {"usable", false},
                     {"why_not", trouble}});
  }
  return lines;
}

json setting_json(const base::setting_row& r) {
  constexpr const char* rank0[] = {"gives", "offers", "has its own"};  // as base::agreement
  std::string choices(r.choices);
  if (r.name == "TOBI_TRANSPORT") {
    choices = "auto";
    for (const transports::registry_entry& entry : transports::registry()) choices.append("|").append(entry.name);
  }
  const auto agrees = static_cast<std::size_t>(r.agrees);
  return {{"kind", "setting"},          {"name", r.name},   {"type", r.type},     {"choices", choices},
          {"default", r.default_value}, {"value", r.value}, {"source", r.source}, {"help", r.help},
          {"rank0", rank0[agrees]}};
}

}  // namespace tobi_info
