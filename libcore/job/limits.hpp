// What a job may not do, and the sentences that say so: limits checked before it starts, faults explained when they
// happen, and the statistics as people read them.
#pragma once

#include <cstddef>
#include <vector>

#include "alloc/segment.hpp"
#include "libcore/base/settings.hpp"
#include "tobi/statistics.hpp"

namespace tobi::job {

/// Fatal, status 2, when this machine cannot hold so many workers.
void check_limits(int workers, int cores, const base::settings& in_force);
/// Fatal, status 2, when the memory of so many workers, on all nodes, cannot be mapped by each of them.
void check_address_space(int workers, const base::settings& in_force);

/// The memory whose faults have a known cause.
struct fault_ranges {
  const alloc::segment* memory;
  const std::byte* deque_guard;
  std::size_t deque_guard_bytes;
  std::size_t stack_bytes;
  std::size_t deque_entries;
};
void watch_ranges(const fault_ranges& ranges);
void forget_ranges() noexcept;

void add(statistics& sum, const statistics& one) noexcept;
/// EACH is by rank; SERVERS are those of them that run no tasks.
void print_statistics(const statistics& all, const std::vector<statistics>& each, const std::vector<int>& servers);

}  // namespace tobi::job
