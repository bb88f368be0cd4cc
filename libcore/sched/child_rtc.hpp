// SPDX-License-Identifier: Apache-2.0
// Child stealing with run-to-completion threads: tasks are function calls on one stack. A task that waits at a join
// looks for other tasks and runs them on top of itself, and cannot go on before they have ended (the buried join of
// CLUSTER 2022, section IV-B).
//
// Futures and burying. A buried task waits for those on top of it. With forks and joins alone nobody waits in a circle:
// a task waits for its children and for what runs on top of it, and both began later than it did. A join of a future
// may wait for a task that began earlier, and that may be buried under the one that waits. So call a task marked when
// it is a future's, or was forked while a marked task was on its worker's stack. **A worker with a marked task on its
// stack does not steal at a join.** It still runs its own children that have not begun.
//
// Why this suffices. Order tasks as the serial program would run them, where a fork runs its child at once.
//   - A wait for a child or future points to what the serial program has finished at that place: earlier.
//   - A task that was popped and runs on top of another was forked by this stack before the place where that one waits:
//     it is earlier too. (When a task is stolen the worker's own deque is empty, so what is popped later was forked by
//     it or on top of it.)
//   - Only a stolen task may be later than the one that it buries, A. Then A and all below it are not
//     marked: A is clean.
// A circle must have such a step, out of a clean A. What waits for a clean task is its parent, which was clean when it
// forked and so still is; or the task that it buries, which is clean by definition; but no join of a future, since what
// that waits for is marked. So all of the circle is clean and has no join of a future, and each of its steps leads to a
// task that began later: there is no circle. And every child that has not begun is begun: the top task of its worker
// ends, or waits and then pops down to it.
#pragma once

#include <vector>

#include "libcore/sched/child.hpp"
#include "libcore/task/task_stacks.hpp"

namespace tobi::sched {

class sched_child_rtc final : public sched_child {
 public:
  explicit sched_child_rtc(services& shared);
  [[nodiscard]] std::string_view name() const noexcept override { return "child_rtc"; }
  [[nodiscard]] bool buries_tasks() const noexcept override { return true; }
  void wait(std::uint64_t where, tasks::record& copy) override;
  [[nodiscard]] std::vector<std::uint64_t> tied_tasks_wait_for() const override { return waiting_; }
  [[nodiscard]] std::size_t touched_stack_bytes() const noexcept override { return stacks_.touched_bytes(); }
  [[nodiscard]] std::string_view explain_fault(const void* address) const noexcept override {
    return stacks_.explain_fault(address);
  }

 private:
  void run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) override;
  bool run_something() override;
  static void first_of_stack(void* self);

  tasks::task_stacks stacks_;
  std::byte* top_;
  descriptor first_{};                  // of the stack, until it has begun
  std::vector<std::uint64_t> waiting_;  // records of outstanding joins, from the bottom of the stack
};

}  // namespace tobi::sched
