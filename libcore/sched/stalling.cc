// SPDX-License-Identifier: Apache-2.0
// The stalling join: CLUSTER 2022, figure 3. A task that must wait stays with its worker, in a queue that the scheduler
// looks at each time that a steal has failed: the oldest first, which go to the end when their children still run.
//
// The paper resumes the task, which looks at the flag itself and suspends again; here the scheduler looks, so that a
// stack is copied in only when it can go on.
//
// Invariants: a record's word goes 0 -> done, by the put (or store) of the one task that completes it, which follows
// the value in the same chain (or releases it). An image is in the queue of one worker, once, and leaves it when its
// record is done. Nobody puts a location into the word, so no atomic is needed.
#include "arch/clock.hpp"
#include "libcore/sched/continuation.hpp"
#include "libcore/task/records.hpp"

namespace tobi::sched {

void sched_stalling::conclude(net::location at, tasks::record& made) noexcept {
  made.done_ns = arch::now_ns();
  s_.records.put_done(at, made);
}

}  // namespace tobi::sched
