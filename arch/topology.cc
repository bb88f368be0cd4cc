// SPDX-License-Identifier: Apache-2.0
#include "arch/topology.hpp"

#include <fcntl.h>
#include <hwloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "libcore/base/plain_text.hpp"

namespace tobi::arch {

namespace {

using bitmap = std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)>;
using topology_handle = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)>;

int ancestor_id(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t of) {
  const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, of);
  return found == nullptr ? -1 : static_cast<int>(found->logical_index);
}

std::string info_of(hwloc_obj_t o, const char* name) {
  const char* value = o == nullptr ? nullptr : hwloc_obj_get_info_by_name(o, name);
  return value == nullptr ? "" : value;
}

std::string read_cpu_model(hwloc_topology_t topology) {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  for (const hwloc_obj_t o : {package, hwloc_get_root_obj(topology)}) {
    if (std::string model = info_of(o, "CPUModel"); !model.empty()) return model;
    // AArch64 kernels give numbers instead of a name.
    const std::string implementer = info_of(o, "CPUImplementer");
    if (!implementer.empty()) return "implementer " + implementer + " part " + info_of(o, "CPUPart");
  }
  return "";
}

// hwloc_topology_init() opens every plugin that is installed, and those for graphics and XML pull in libraries that
// take tens of milliseconds to load, for objects that are filtered out below. It takes their place from the environment
// only. No thread exists yet that could look at the environment at the same time: workers are forked from here.
int init_without_plugins(hwloc_topology_t* topology) {
  constexpr const char* name = "HWLOC_PLUGINS_PATH";
  const bool mine = std::getenv(name) == nullptr;
  if (mine) setenv(name, "", 0);
  const int result = hwloc_topology_init(topology);
  if (mine) unsetenv(name);
  return result;
}

// The processors that this thread may use, in order; none where the kernel does not say. Forked workers inherit them.
// The mask is asked for with growing room: kernels refuse one that is smaller than their own.
std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  for (int room = 1024; room <= 1 << 20; room *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mine(CPU_ALLOC(static_cast<std::size_t>(room)),
                                                                [](cpu_set_t* set) { CPU_FREE(set); });
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(room));
    CPU_ZERO_S(bytes, mine.get());
    if (sched_getaffinity(0, bytes, mine.get()) != 0) {
      if (errno == EINVAL) continue;  // this machine has more
      break;
    }
    for (int cpu = 0; cpu < room; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, mine.get())) cpus.push_back(cpu);
    }
    break;
  }
  return cpus;
}

// What the process may use when hwloc cannot say.
void guess_from_affinity(machine& m) {
  m.cores.clear();
  for (const int cpu : allowed_cpus()) m.cores.push_back({cpu, cpu, -1, -1, -1});
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  for (int cpu = 0; m.cores.empty() && cpu < online; ++cpu) m.cores.push_back({cpu, cpu, -1, -1, -1});
  m.cores_total = online > 0 ? static_cast<int>(online) : static_cast<int>(m.cores.size());
}

// Those of CPUS alone, unless it is empty.
void read_cores(hwloc_topology_t topology, const std::vector<int>& cpus, machine& m) {
  const bitmap mine(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)), hwloc_bitmap_free);
  if (!cpus.empty()) {
    const bitmap those(hwloc_bitmap_alloc(), hwloc_bitmap_free);
    for (const int cpu : cpus) hwloc_bitmap_set(those.get(), static_cast<unsigned>(cpu));
    hwloc_bitmap_and(mine.get(), mine.get(), those.get());
  }
  // Where the machine reports no cores (some containers do), its hardware threads serve as such.
  const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  m.cores_total = hwloc_get_nbobjs_by_type(topology, type);
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(topology, type, o)) != nullptr;) {
    const bitmap usable(hwloc_bitmap_dup(o->cpuset), hwloc_bitmap_free);
    hwloc_bitmap_and(usable.get(), usable.get(), mine.get());
    const int cpu = hwloc_bitmap_first(usable.get());
    if (cpu < 0) continue;
    const int numa = o->nodeset != nullptr ? hwloc_bitmap_first(o->nodeset) : -1;
    m.cores.push_back({cpu, static_cast<int>(o->logical_index), ancestor_id(topology, HWLOC_OBJ_L3CACHE, o), numa,
                       ancestor_id(topology, HWLOC_OBJ_PACKAGE, o)});
  }
}

// Only what read_cores() looks at. The cpuid backend is left out by DONT_CHANGE_BINDING: it moves this thread over all
// cores, one by one, to learn what /sys has said already.
bool load(hwloc_topology_t topology) {
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const hwloc_obj_type_t keep : {HWLOC_OBJ_CORE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_PACKAGE}) {
    hwloc_topology_set_type_filter(topology, keep, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
  return hwloc_topology_load(topology) == 0;
}

void fail(machine& m, const std::string& what) {
  m.error = what;
  guess_from_affinity(m);
}

// Of CPUS alone, unless it is empty.
void describe(const std::string& synthetic, const std::vector<int>& cpus, machine& m) {
  hwloc_topology_t raw = nullptr;
  if (init_without_plugins(&raw) != 0) {
    return fail(m, std::string("hwloc cannot start (") + std::strerror(errno) + ")");
  }
  const topology_handle topology(raw, hwloc_topology_destroy);
  if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0) {
    fail(m, "hwloc does not understand the description " + synthetic);
  } else if (!load(raw)) {
    fail(m, std::string("hwloc cannot read the machine (") + std::strerror(errno) + ")");
  } else {
    // What a site says of its machines (HWLOC_XMLFILE) is true of all processes. hwloc does not ask then how this one
    // is bound.
    read_cores(raw, cpus, m);
    m.cpu_model = read_cpu_model(raw);
    if (m.cores.empty()) fail(m, "hwloc found no core that this process may use");
  }
}

// Whether a process of its own comes to the end of BODY, before it has computed for ten seconds. Where there can be
// none it is not known, and true.
template <class Body>
bool comes_through(Body body) {
  int said[2];
  if (pipe2(said, O_CLOEXEC) != 0) return true;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    const rlimit seconds{10, 10};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &seconds);
    for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(s, SIG_DFL);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) close(fd);
    [&]() noexcept { body(); }();  // nothing is to be thrown into the program's own code
    _exit(write(said[1], "", 1) == 1 ? 0 : 1);
  }
  close(said[1]);
  char end = 0;
  ssize_t n = 0;
  while (child > 0 && (n = read(said[0], &end, 1)) < 0 && errno == EINTR) {
  }
  close(said[0]);
  if (child < 0) return true;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {  // or a handler of the program has taken it
  }
  return n == 1;
}

}  // namespace

machine read_machine(const std::string& synthetic) {
  machine m;
  if (synthetic.empty()) m.cpu_quota = cgroup_cpu_quota();
  const long pages = sysconf(_SC_PHYS_PAGES);
  if (pages > 0) m.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));

  // hwloc 2.9 makes its set of processors larger until the kernel takes it, for ever where the call is forbidden.
  const std::vector<int> cpus = synthetic.empty() ? allowed_cpus() : std::vector<int>();
  if (synthetic.empty() && cpus.empty()) {
    fail(m, std::string("the kernel refuses sched_getaffinity (") + std::strerror(errno) +
                "), which a container's seccomp profile may do");
    return m;
  }
  // hwloc 2.9 may crash on a file that is damaged.
  const char* const file = std::getenv("HWLOC_XMLFILE");
  if (file != nullptr && !comes_through([&] {
        machine tried;
        describe(synthetic, cpus, tried);
      })) {
    fail(m, std::string("hwloc cannot read HWLOC_XMLFILE=") + file + ", which is damaged");
    return m;
  }
  describe(synthetic, cpus, m);
  return m;
}

const machine& this_machine() {
  static const machine read = read_machine();
  return read;
}

int worker_cores(const machine& m) noexcept {
  int cores = static_cast<int>(m.cores.size());
  if (m.cpu_quota > 0 && m.cpu_quota < cores) cores = static_cast<int>(std::ceil(m.cpu_quota));
  return cores < 1 ? 1 : cores;
}
int worker_cores() { return worker_cores(this_machine()); }

double cgroup_cpu_quota(const cgroup_files& files) {
  double smallest = 0;
  visit_cgroup_levels(files, "cpu", [&](const std::string& folder, int version) {
    double quota = 0;
    double period = 0;
    if (version == 2) {
      // "max 100000" or "200000 100000"; "max" does not read as a number.
      base::file_in both(folder + "/cpu.max");
      both >> quota >> period;
    } else {
      // A quota of -1 for none.
      base::file_in(folder + "/cpu.cfs_quota_us") >> quota;
      base::file_in(folder + "/cpu.cfs_period_us") >> period;
    }
    if (quota > 0 && period > 0 && (smallest == 0 || quota / period < smallest)) smallest = quota / period;
  });
  return smallest;
}

int distance(const core& a, const core& b) noexcept {
  if (a.l3 >= 0 && a.l3 == b.l3) return 0;
  if ((a.numa >= 0 && a.numa == b.numa) || (a.package >= 0 && a.package == b.package)) return 1;
  return 2;
}

std::string bind_to_cpu(int os_cpu) {
  if (os_cpu < 0) return "no such cpu";
  const auto cpu = static_cast<std::size_t>(os_cpu);
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> one(CPU_ALLOC(cpu + 1), [](cpu_set_t* set) { CPU_FREE(set); });
  const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, one.get());
  CPU_SET_S(cpu, bytes, one.get());
  return sched_setaffinity(0, bytes, one.get()) == 0 ? "" : std::strerror(errno);
}

void bind_to_all_cores() noexcept {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const core& c : this_machine().cores) {
    if (c.os_cpu >= 0 && c.os_cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(c.os_cpu), &all);
  }
  // Where it fails the thread stays where it is, which is slower and right.
  static_cast<void>(sched_setaffinity(0, sizeof all, &all));
}

}  // namespace tobi::arch
