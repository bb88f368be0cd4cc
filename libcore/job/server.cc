// SPDX-License-Identifier: Apache-2.0
// The workers that run no tasks: with TOBI_AMO_SERVER=worker, over a fabric that has no atomics, the last one of each
// node executes those of the others (transports/soft/placement.hpp). They are ranks like any other where the job
// communicates: in barriers, in the tree that tells the end of a run, in the statistics.
#include <sched.h>

#include <atomic>

#include "arch/cpu.hpp"
#include "libcore/base/log.hpp"
#include "libcore/job/job.hpp"
#include "transports/nap.hpp"
#include "transports/soft/settings.hpp"

namespace tobi::job {

void job::find_servers() {
  namespace soft = transports::soft;
  std::string where;
  for (int r = 0; r < size(); ++r) {
    if (!transport_->serves_only(r)) continue;
    servers_.push_back(r);
    where += (where.empty() ? "rank " : ", rank ") + std::to_string(r) + " those of node " + std::to_string(nodes_[r]);
  }
  if (rank() != 0 || settings_.of<soft::settings>().amo_server != soft::amo_place::worker) return;
  if (servers_.empty()) {
    base::log(base::log_level::warn, "TOBI_AMO_SERVER=worker has no effect: " + std::string(transport_->name()) +
                                         " executes atomics itself, and all " + std::to_string(size()) +
                                         " workers run tasks.");
    return;
  }
  base::log(base::log_level::info, "workers that execute atomics and run no tasks: " + where + "; " +
                                       std::to_string(computing()) + " of " + std::to_string(size()) +
                                       " workers run tasks.");
}

// What schedule() is for the others. A core of its own is never given away; where there are fewer cores than workers,
// a worker that asks this one may be waiting for the core, too.
void job::serve_until_told() {
  constexpr unsigned turns_between_naps = 16;
  const std::atomic_ref told(control_->all.notice.epoch);
  // Acquire: what the root wrote before it told us is read after this.
  for (unsigned turns = 0; told.load(std::memory_order_acquire) != epoch_; ++turns) {
    transport_->progress();
    if (global_->memory()->used) global_->memory()->serve();
    if (!crowded_) {
      arch::pause();
    } else if (turns % turns_between_naps != 0) {
      sched_yield();
    } else {
      transports::nap(*transport_, 20'000);
    }
  }
}

}  // namespace tobi::job
