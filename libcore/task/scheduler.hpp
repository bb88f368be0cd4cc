// What TOBI_SCHED chooses: who runs first at a fork, what a join does that must wait, and how a task's end reaches it.
// All of it is asked on slow paths only; the fork path knows nothing of schedulers.
//
//   continuation_greedy    the child runs, thieves take the parent; a join goes on where it became possible
//   continuation_stalling  the same, but a task that waits at a join goes on where it waits, when its turn comes
//   child_full             the parent runs on, thieves take children that have not begun; each task has a stack
//   child_rtc              the same, without stacks of their own: a join runs other tasks on top of the one that waits
//
// They are the four of the CLUSTER 2022 paper's table II. The worker owns one and offers it what they share: records,
// the deque, the region, idling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/location.hpp"
#include "arch/context.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/task/record.hpp"

namespace tobi::tasks {

class worker;

class scheduler {
 public:
  virtual ~scheduler() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Whether a task may go on in another process: false means that it is tied to its worker once it has begun.
  [[nodiscard]] virtual bool moves_tasks() const noexcept = 0;
  /// Whether a task may go on in another process after a join. Where it does not, an exception may be under way at one:
  /// wait() then keeps it for its task.
  [[nodiscard]] virtual bool moves_at_joins() const noexcept { return false; }
  /// Whether a task that waits may lie below others on the same stack, and cannot go on before they have ended.
  [[nodiscard]] virtual bool buries_tasks() const noexcept { return false; }
  /// The words of the fork path that the deque is to work on: the process's own, where forks push entries by
  /// themselves.
  [[nodiscard]] virtual arch::hot_state& deque_state() noexcept { return tobi_hot; }

  // --- on the scheduler's stack ----------------------------------------------------------------------
  /// Enters the root; returns when it has left, which need not be its end. See worker::schedule.
  virtual void run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) = 0;
  /// Runs one task until it leaves; false: there was nothing to run.
  virtual bool run_something() = 0;
  /// The running task has been saved as the image at WHERE and waits for RECORD. False: that is done already, and the
  /// task goes on in place. Of schedulers that move tasks.
  virtual bool park(std::uint64_t where, std::uint64_t record) = 0;

  // --- called from tasks -------------------------------------------------------------------------------
  /// A fork took the slow path. WORDS are the closure's four, then the task_type as tobi_fork will call it.
  virtual void forked(std::uintptr_t sp, std::uint64_t* words) noexcept = 0;
  /// Returns when the record at WHERE, which was not done a moment ago, is; COPY is what it says then.
  virtual void wait(std::uint64_t where, record& copy) = 0;
  /// Makes the record at WHERE done, with what MADE says behind its first two words.
  virtual void conclude(alloc::location where, record& made) noexcept = 0;

  // --- for the statistics, the fault handler and a job that stands still
  // --------------------------------------------------
  /// The records that tasks wait for which have no image, a record as often as it has such tasks.
  [[nodiscard]] virtual std::vector<std::uint64_t> tied_tasks_wait_for() const { return {}; }
  /// Bytes of the stacks of its own that tasks have touched; 0: they run in the uni-address region.
  [[nodiscard]] virtual std::size_t touched_stack_bytes() const noexcept { return 0; }
  /// The sentence for a fault at ADDRESS, or "" when it is not known why.
  [[nodiscard]] virtual std::string explain_fault(const void* /*address*/) const { return ""; }
};

std::unique_ptr<scheduler> make_scheduler(base::sched_kind kind, worker& w);

}  // namespace tobi::tasks
