// SPDX-License-Identifier: Apache-2.0
// The schemes of HPDC'12 (section 7) that execute a collection's tasks, and what each iteration of them is found to do.
#pragma once

#include <cstdint>
#include <string_view>
#include <tobi/runtime.hpp>
#include <vector>

#include "tools/bench/collection_program.hpp"

namespace tobi_bench {

/// Iteration 0 of each scheme executes all tasks, by stealing, and finds the null ones. Further iterations:
enum class scheme : std::uint8_t {
  steal_all,        // all tasks again, dealt and stolen as in iteration 0 (StealAll)
  steal,            // tasks that are not null, each added where it was dealt in iteration 0 (Steal)
  steal_retentive,  // tasks that are not null, each added where it was executed last (StealRet)
  plb_central,      // PLB: stolen once, kept once, then rebalanced by one worker before each iteration
  plb_hier,         // the same, rebalanced along a tree
  ideal,            // one worker executes all that are not null, and the time is divided by the workers
  fork_join,        // no collection: a parallel_for over the tasks that are not null, in a root task
};

struct named_scheme {
  std::string_view name;
  scheme which;
};
inline constexpr named_scheme named_schemes[] = {
    {"steal_all", scheme::steal_all},     {"steal", scheme::steal},       {"steal_retentive", scheme::steal_retentive},
    {"plb_central", scheme::plb_central}, {"plb_hier", scheme::plb_hier}, {"ideal", scheme::ideal},
    {"fork_join", scheme::fork_join},
};
[[nodiscard]] std::string_view name_of(scheme which);

/// Mean and standard deviation over the workers.
struct spread {
  double mean = 0;
  double deviation = 0;
};

constexpr int utilisation_bins = 20;

/// What one iteration did, on all workers.
struct collection_iteration {
  double seconds = 0;                              // of the worker that took longest, from the barrier before the tasks
  double task_seconds = 0;                         // in tasks, the sum over the workers
  double ideal_seconds = 0;                        // the same, divided by the workers
  std::uint64_t moved = 0;                         // tasks, by the balancer
  double balance_seconds = 0;                      // of the balancer, before it and not in SECONDS
  double between_seconds = 0;                      // of the program, behind the tasks and not in SECONDS
  std::uint64_t executed = 0;                      // tasks
  std::uint64_t null = 0;                          // of them
  spread tasks, attempted_steals, steals, stolen;  // per worker
  std::vector<double>
      utilisation;  // mean over the workers of the share of a bin that is spent in tasks; all bins are SECONDS

  [[nodiscard]] double efficiency() const { return ideal_seconds / seconds; }
};

struct collection_run {
  std::vector<collection_iteration> iterations;  // iteration 0 first
  std::uint64_t all = 0;                         // tasks
  std::uint64_t non_null = 0;
  bool counted_right = true;  // each task that was due was executed once, in each iteration. Known with --verify
  bool went_on = false;       // the program had use for more iterations
};

/// Collective: executes PROGRAM by the scheme WHICH, with at most MOST iterations behind iteration 0. With VERIFY the
/// executions of each task are counted. Every worker returns the same.
collection_run run_scheme(tobi::runtime& rt, collection_program& program, scheme which, int most, bool verify);

}  // namespace tobi_bench
