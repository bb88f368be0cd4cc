// SPDX-License-Identifier: Apache-2.0
// The machine as the scheduler sees it: which cores this process may use, and how near they are to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "arch/cgroup.hpp"

namespace tobi::arch {

/// A core that a worker can be bound to: one of its hardware threads, the first that the process may use. `numa` is the
/// kernel's number, as numactl counts; the other ids are hwloc's logical indices. -1 where the machine does not say.
struct core {
  int os_cpu = -1;
  int id = -1;
  int l3 = -1;
  int numa = -1;
  int package = -1;
};

struct machine {
  std::vector<core> cores;  // usable ones, in the machine's order, so that neighbours are near
  int cores_total = 0;      // of the whole machine
  double cpu_quota = 0;     // of the control group, in cores; 0: none
  std::uint64_t memory_bytes = 0;
  std::string cpu_model;
  std::string error;  // not empty: the topology could not be read, and `cores` is a guess from the affinity mask
};

/// Read once, before the workers are forked. Respects the inherited cpuset; the control group's quota limits
/// worker_cores().
const machine& this_machine();
/// The uncached reading. SYNTHETIC, in hwloc's notation ("pack:2 l3:2 core:4 pu:2"), describes another machine to read
/// instead of this one, all of it usable: for tests of what no test machine has.
machine read_machine(const std::string& synthetic = "");

/// How many workers the machine is worth: its usable cores, or fewer where the control group has a smaller quota of
/// time.
int worker_cores();
int worker_cores(const machine& m) noexcept;

/// The smallest quota of time on this process's control groups, in cores; 0: none.
double cgroup_cpu_quota(const cgroup_files& files = {});

/// 0: same last-level cache; 1: same package or NUMA node; 2: same machine.
int distance(const core& a, const core& b) noexcept;

/// Binds the calling thread to the cpu. "" or why not.
std::string bind_to_cpu(int os_cpu);
/// Lets the calling thread run on all cores that this process was given, whatever its creator was bound to.
void bind_to_all_cores() noexcept;

}  // namespace tobi::arch
