// SPDX-License-Identifier: Apache-2.0
// What TOBI_SCHED chooses: what runs first at a fork, what a join does that must wait, and how a task's end reaches it.
// All of it is asked on slow paths only; the fork path knows nothing of schedulers.
//
//   continuation_greedy    the child runs, thieves take the parent; a join goes on where it became possible
//   continuation_stalling  the same, but a task that waits at a join goes on where it waits, when its turn comes
//   child_full             the parent runs on, thieves take children that have not begun; each task has a stack
//   child_rtc              the same, without stacks of their own: a join runs other tasks on top of the one that waits
//
//   adws                   continuation_greedy, where patterns deal their parts to ranges of workers
//
// The first four are those of the CLUSTER 2022 paper's table II, the fifth is almost deterministic work stealing (SC
// 2019, divisions.hpp). One more, of TOBI_WORK_SPAN, has one worker and measures (measuring.hpp). A scheduler owns the
// loop in which its worker enters tasks, and is offered what all of them share (services.hpp).
//
// Schedulers are made in static storage, so that `this` is the same in every process: wait() may return in another one,
// and goes on with the scheduler there. They differ in nothing but what their processes have put into them, since the
// whole job has one TOBI_SCHED, and its code lies at the same addresses everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "arch/context.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/sched/services.hpp"
#include "libcore/task/scheduling.hpp"
#include "libcore/task/standstill.hpp"
#include "libcore/trace/work_span.hpp"

namespace tobi::sched {

class scheduler : public tasks::scheduling, public tasks::tied_tasks {
 public:
  explicit scheduler(services& shared) noexcept : s_(shared) {}
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  virtual ~scheduler() = default;

  /// On the scheduler's stack: runs tasks until the run is over. FIRST, if not null, is the root, entered with a copy
  /// of the ARGUMENT_BYTES at ARGUMENT, which it may use.
  void run(void (*first)(void*), const void* argument, std::size_t argument_bytes);
  /// In a task: a fork took the slow path. WORDS are the closure's four, then the task_type as tobi_fork will call it.
  virtual void forked(std::uintptr_t sp, std::uint64_t* words) noexcept = 0;
  /// In a task: it goes on at RANK, if it may move now and there is room. TIED: there alone. Perhaps in another process
  /// when it returns.
  virtual void go_to(int /*rank*/, bool /*tied*/) noexcept {}
  void show_awakened() noexcept override;

  /// The words of the fork path that the deque is to work on: the process's own, where forks push entries by
  /// themselves.
  [[nodiscard]] virtual arch::hot_state& deque_state() noexcept { return tobi_hot; }
  /// Bytes of the stacks of its own that tasks have touched; 0: they run in the uni-address region.
  [[nodiscard]] virtual std::size_t touched_stack_bytes() const noexcept { return 0; }
  /// What it has measured, or null.
  [[nodiscard]] virtual const trace::measured_program* measured() const noexcept { return nullptr; }
  /// For the fault handler: the sentence for a fault at ADDRESS, or "" when it is not known why.
  [[nodiscard]] virtual std::string_view explain_fault(const void* /*address*/) const noexcept { return ""; }

 protected:
  /// Enters the root; returns when it has left, which need not be its end.
  virtual void run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) = 0;
  /// Runs one task until it leaves; false: there was nothing to run.
  virtual bool run_something() = 0;

  services& s_;
};

/// The scheduler of this process, in a place of its own, the same one on all workers: of KIND, or the one that
/// MEASURES. The caller destroys it.
scheduler& make_scheduler(base::sched_kind kind, bool measures, services& shared);

}  // namespace tobi::sched
