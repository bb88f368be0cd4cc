// SPDX-License-Identifier: Apache-2.0
// Memory of the machine: pages and huge pages, how much may be locked, how much is there, and how many workers it
// holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "arch/cgroup.hpp"

namespace tobi::arch {

inline constexpr std::uint64_t unlimited = ~std::uint64_t{0};

/// The kernel's pool of huge pages of one size. `free` counts those that nobody has mapped or reserved.
struct huge_pages {
  std::size_t page_bytes = 0;
  std::size_t total = 0;
  std::size_t free = 0;
  bool memfd = false;  // a memory file with such pages can be made and mapped now (tried with one page)
};

struct page_facts {
  std::size_t page_bytes = 0;
  std::vector<huge_pages> huge;    // small pages first; empty: the kernel has none
  std::string transparent;         // of private memory: always, madvise or never; "": the kernel does not know them
  std::string transparent_shared;  // of memory files: always, within_size, advise, never, deny or force; ""
  std::uint64_t locked_limit = 0;  // bytes (ulimit -l), or `unlimited`; a privileged process is not held to it
  std::uint64_t locked_limit_hard = 0;  // up to which the user may raise it
};

/// SYS is the kernel's folder of memory facts; tests show one of their own.
page_facts read_pages(const std::string& sys = "/sys/kernel/mm");

/// Bytes that new allocations can have: what the kernel calls available, or less where a control group has a limit.
/// `unlimited` when the machine does not say.
std::uint64_t available_memory(const std::string& meminfo = "/proc/meminfo", const cgroup_files& files = {});

/// Beyond this many workers per core, a job measures nothing but the kernel's scheduler: it is warned of.
inline constexpr int workers_per_core_good = 64;
/// Each worker maps the memory of each other one, which takes some 0.1 ms of a core for each pair: this many per core,
/// on two cores, have run right and took two minutes to start and end. Nothing larger has been seen to end.
inline constexpr int workers_per_core_max = 512;

/// "" when CORES and the available memory hold ASKED workers of BYTES_A_WORKER, else one sentence that says why not.
std::string too_many_workers(int asked, int cores, std::size_t bytes_per_worker);
/// The same for a given amount of memory.
std::string too_many_workers(int asked, int cores, std::size_t bytes_per_worker, std::uint64_t available_bytes);
/// "" or one sentence that says what to expect of so many workers.
std::string crowded(int workers, int cores);

}  // namespace tobi::arch
