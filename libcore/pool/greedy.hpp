// SPDX-License-Identifier: Apache-2.0
// The two loops that the balancers of HPDC'12 have in common: what a core gives away, and a greedy assignment of it.
// They are pure functions: they send nothing and know no time. Tasks of one bin take the same time as far as a balancer
// knows, so these are numbers of tasks by bin.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "libcore/pool/binned_times.hpp"

namespace tobi::pool {

/// CORES of which each has LOAD_NS, or nearly so.
struct load_group {
  double load_ns;
  std::uint64_t cores;
};

/// A core, or a subtree of cores, with the tasks that it keeps and those that it was assigned.
struct standing {
  std::vector<load_group> loads;   // none, of a rank that executes no tasks and only serves others
  std::vector<bin_count> surplus;  // what was given away in it and is assigned to nobody; the shortest times first
};

/// Algorithms 1 and 2, the first loop. A core that has OWN gives away its shortest tasks until it has LIMIT_NS or less
/// (C times the average). COMPUTES: it executes tasks; else it gives away all.
///
/// The loop in the paper ends by the load alone, and so gives away a task that is longer than the limit too. The core
/// that gets that one has the load that its donor had, so a core here keeps its longest task.
[[nodiscard]] standing donate(const binned_times& own, double limit_ns, bool computes);

/// So many tasks of one bin that a child of a node gives, or gets.
struct portion {
  std::uint32_t bin;
  std::uint32_t child;
  std::uint64_t count;
};

/// What a node heeds on the way up: no core gets a task that lifts it above LIMIT_NS, and room that a longer task of
/// elsewhere may need is kept free. On the way down there is no limit.
struct assign_limits {
  double unit_ns = 0;  // how much a load may be off
  double limit_ns = std::numeric_limits<double>::infinity();
  double longest_ns = 0;  // of all tasks that any core has given away
};

/// Algorithms 1 and 2, the loop over a heap of tasks and a heap of loads. The longest task of POOL, which has the
/// shortest times first, goes to the child that has the core with the lowest load. Brings the children's loads up to
/// date. Returns what each child gets: the longest times first, and of one bin the children in order. Adds to STEPS
/// what it took: one for each look at a heap.
///
/// Three things differ from algorithm 2, each for the balance on machines with few tasks per core:
///   - The paper knows of a child the average load of its cores, and says itself that the balance suffers from that
///     (section 5.2): a long task goes to a subtree that has little to do in all, and in which no core has room for it.
///     Here a child says how many of its cores have about which load.
///   - The paper's loop asks whether the lowest load is under the limit, and then assigns the longest task, so a core
///     that lacks little gets too much. Here a task that fits nowhere stays for the node above, and the next shorter
///     one is tried.
///   - Short tasks would fill the room that a long task of another subtree needs, which comes from above later. So a
///     core takes any task while the longest of all still fits behind it, and then those that fill its room well.
///
/// Many tasks of one bin, and many cores of one load, are handled together: a node at the top of a large machine would
/// else handle as many as the machine has.
[[nodiscard]] std::vector<portion> assign(const std::vector<bin_count>& pool, std::vector<standing>& children,
                                          const assign_limits& limits, const time_bins& bins, std::uint64_t& steps);

/// The loads of all CHILDREN, of which those are joined that are less than UNIT_NS apart.
[[nodiscard]] std::vector<load_group> loads_of(const std::vector<standing>& children, double unit_ns);

}  // namespace tobi::pool
