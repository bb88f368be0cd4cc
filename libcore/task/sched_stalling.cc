// The stalling join: CLUSTER 2022, figure 3. A task that must wait stays with its worker, in a queue that the scheduler
// looks at each time that a steal has failed: the oldest one first, which goes to the end when its child still runs.
//
// The paper resumes the task, which looks at the flag itself and suspends again; here the scheduler looks, so that a
// stack is copied in only when it can go on.
//
// Invariants: a record's word goes 0 -> done, by the put (or store) of the one task that completes it, which follows
// the value in the same chain (or releases it). An image is in the queue of one worker, once, and leaves it when its
// record is done. Nobody puts a location into the word, so no atomic is needed.
#include <atomic>

#include "arch/clock.hpp"
#include "libcore/task/exceptions.hpp"
#include "libcore/task/sched_continuation.hpp"
#include "libcore/task/worker.hpp"

namespace tobi::tasks {

// One round: the caller may sleep before the next, so each waiting task has had its turn before.
bool sched_stalling::run_something() {
  std::size_t turns = queue_.size();
  do {
    if (sched_continuation::run_something() || look_at_one_waiting()) return true;
  } while (turns-- > 1);
  return false;
}

bool sched_stalling::look_at_one_waiting() {
  if (queue_.empty()) return false;
  waiting first = queue_.front();
  queue_.pop_front();
  record copy;
  if (!w_.finished(first.record, copy)) {
    first.since_ns = w_.not_done_yet(first.since_ns);
    queue_.push_back(first);
    return false;
  }
  w_.enter_image(first.image, w_.resumable_since(first.since_ns, copy));
  return true;
}

// The task comes back to this process, so an exception that is under way, in a destructor that waits, can wait with it.
void sched_stalling::wait(std::uint64_t where, record& copy) {
  const exceptions_under_way mine = take_exceptions();
  w_.suspend_for(where, copy);
  give_exceptions(mine);
}

bool sched_stalling::park(std::uint64_t where, std::uint64_t record) {
  queue_.push_back({where, record, arch::now_ns()});
  return true;
}

void sched_stalling::conclude(alloc::location at, record& made) noexcept {
  made.done_ns = arch::now_ns();
  w_.put_done(at, made);
}

}  // namespace tobi::tasks
