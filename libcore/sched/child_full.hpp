// SPDX-License-Identifier: Apache-2.0
// Child stealing with fully fledged threads: a task that begins gets a stack of its own, and one that must wait at a
// join leaves it for another. CLUSTER 2022, section IV-B.
//
// A join whose child has not begun starts it, and goes on when it ends, at once: the child knows its joiner. Any other
// join that must wait is outstanding: its task goes to the end of the worker's wait queue. The paper's scheduler looks
// at one of it after each steal that failed, this one at more (wait_queue.hpp).
//
// Invariant: a task that has begun and not ended runs, or is in the queue once, or is the joiner of exactly one task
// that has begun, namely that whose record it waits for. So no task waits behind one that it does not need, and one
// that can go on is found.
#pragma once

#include "libcore/sched/child.hpp"
#include "libcore/task/exceptions.hpp"
#include "libcore/task/scopes.hpp"
#include "libcore/task/task_stacks.hpp"
#include "libcore/task/wait_queue.hpp"

namespace tobi::sched {

class sched_child_full final : public sched_child {
 public:
  explicit sched_child_full(services& shared);
  [[nodiscard]] std::string_view name() const noexcept override { return "child_full"; }
  void wait(std::uint64_t where, tasks::record& copy) override;
  [[nodiscard]] std::vector<std::uint64_t> tied_tasks_wait_for() const override;
  [[nodiscard]] std::size_t touched_stack_bytes() const noexcept override { return stacks_.touched_bytes(); }
  [[nodiscard]] std::string_view explain_fault(const void* address) const noexcept override {
    return stacks_.explain_fault(address);
  }

 private:
  void run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) override;
  bool run_something() override;
  /// A task that has begun; it lies at the top of its stack.
  struct thread {
    sched_child_full* runs_it;
    std::byte* top;
    std::uintptr_t sp;  // where it was saved
    descriptor child;
    void (*root)(void*);  // the root instead of a child
    void* root_argument;
    running as;
    tasks::scopes governing;
    bool begun;
    std::uint64_t waits_for;  // the record; 0: it does not wait
    thread* joiner;           // waits for this one's end, and runs next
    tasks::exceptions_under_way exceptions;
  };

  thread* make_thread();
  thread* start(const descriptor& child);
  void run(thread* t);
  thread* enter(thread& t);
  void go_on(const tasks::wait_queue::waiting& task);
  static void first_of_stack(void* of);

  tasks::task_stacks stacks_;
  tasks::wait_queue waiting_;
  thread* current_ = nullptr;
};

}  // namespace tobi::sched
