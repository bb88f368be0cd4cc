// SPDX-License-Identifier: Apache-2.0
// What a job may not do, and the sentences that say so: limits checked before it starts, faults explained when they
// happen, and the statistics as people read them.
#pragma once

#include <cstddef>
#include <vector>

#include "alloc/segment.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/trace/trace_file.hpp"
#include "tobi/statistics.hpp"

namespace tobi::job {

/// Fatal, status 2, when this machine cannot hold so many workers.
void check_limits(int workers, int cores, const base::settings& in_force);
/// Fatal, status 2, when TOBI_WORK_SPAN cannot measure this job.
void check_measured(int rank, int ranks, const base::settings& in_force);
/// Says so where the WORKERS that this process forks have fewer cores and the machine has more: a warning where that
/// was OpenMP or a launcher, of which the user may not know.
void tell_what_binds(int workers);
/// "" or why a job cannot have so many RANKS: what names an object of another worker holds no more.
[[nodiscard]] std::string too_many_ranks(int ranks);
/// "" or why the heap regions of so many RANKS, of REGION_BYTES each, do not fit into the addresses that all workers
/// see them at: one sentence that names the setting that helps, and a value.
[[nodiscard]] std::string too_much_address_space(int ranks, std::size_t region_bytes);
/// Fatal on all ranks, status 2.
void check_ranks(int rank, int ranks);
void check_address_space(int rank, int ranks, std::size_t region_bytes);

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

/// EACH is by rank; SERVERS are those of them that run no tasks.
void print_statistics(const statistics& all, const std::vector<statistics>& each, const std::vector<int>& servers,
                      const std::vector<trace::named_site>& fetched_at);

}  // namespace tobi::job
