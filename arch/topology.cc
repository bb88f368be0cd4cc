#include "arch/topology.hpp"

#include <hwloc.h>
#include <sched.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>

namespace tobi::arch {

namespace {

double read_cpu_quota() {
  // Control groups version 2: "max 100000" or "200000 100000". Version 1: two files, a quota of -1 for none.
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2) {
    std::string quota;
    double period = 0;
    if (v2 >> quota >> period && quota != "max" && period > 0) return std::stod(quota) / period;
    return 0;
  }
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) return quota / period;
  return 0;
}

int ancestor_id(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t of) {
  const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, of);
  return found == nullptr ? -1 : static_cast<int>(found->logical_index);
}

void guess_from_affinity(machine& m) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) m.cores.push_back({cpu, cpu, -1, -1, -1});
  }
  m.cores_total = static_cast<int>(m.cores.size());
}

void read_cores(hwloc_topology_t topology, machine& m) {
  const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> mine(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology, mine.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(mine.get(), hwloc_topology_get_allowed_cpuset(topology));
  }
  // Where the machine reports no cores (some containers do), its hardware threads serve as such.
  const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  m.cores_total = hwloc_get_nbobjs_by_type(topology, type);
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(topology, type, o)) != nullptr;) {
    const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> usable(hwloc_bitmap_dup(o->cpuset),
                                                                           hwloc_bitmap_free);
    hwloc_bitmap_and(usable.get(), usable.get(), mine.get());
    const int cpu = hwloc_bitmap_first(usable.get());
    if (cpu < 0) continue;
    int numa = -1;
    if (o->nodeset != nullptr) numa = hwloc_bitmap_first(o->nodeset);
    m.cores.push_back({cpu, static_cast<int>(o->logical_index), ancestor_id(topology, HWLOC_OBJ_L3CACHE, o), numa,
                       ancestor_id(topology, HWLOC_OBJ_PACKAGE, o)});
  }
}

machine read_machine() {
  machine m;
  m.cpu_quota = read_cpu_quota();
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    m.error = std::string("hwloc_topology_init: ") + std::strerror(errno);
    guess_from_affinity(m);
    return m;
  }
  // Only what read_cores() looks at: devices and the small caches take most of the time of a full discovery.
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const hwloc_obj_type_t keep : {HWLOC_OBJ_CORE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_PACKAGE}) {
    hwloc_topology_set_type_filter(topology, keep, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  if (hwloc_topology_load(topology) != 0) {
    m.error = std::string("hwloc_topology_load: ") + std::strerror(errno);
    guess_from_affinity(m);
  } else {
    read_cores(topology, m);
    const char* model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "CPUModel");
    const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    if (model == nullptr && package != nullptr) model = hwloc_obj_get_info_by_name(package, "CPUModel");
    if (model != nullptr) m.cpu_model = model;
    if (m.cores.empty()) {
      m.error = "hwloc found no core that this process may use";
      guess_from_affinity(m);
    }
  }
  hwloc_topology_destroy(topology);
  return m;
}

}  // namespace

const machine& this_machine() {
  static const machine read = read_machine();
  return read;
}

int worker_cores() {
  const machine& m = this_machine();
  int cores = static_cast<int>(m.cores.size());
  if (m.cpu_quota > 0) {
    const int worth = static_cast<int>(std::ceil(m.cpu_quota));
    if (worth < cores) cores = worth;
  }
  return cores < 1 ? 1 : cores;
}

int distance(const core& a, const core& b) noexcept {
  if (a.l3 >= 0 && a.l3 == b.l3) return 0;
  if ((a.numa >= 0 && a.numa == b.numa) || (a.package >= 0 && a.package == b.package)) return 1;
  return 2;
}

std::string bind_to_cpu(int os_cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(os_cpu), &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) return "";
  return std::strerror(errno);
}

}  // namespace tobi::arch
