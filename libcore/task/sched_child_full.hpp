// Child stealing with fully fledged threads: a task that begins gets a stack of its own, and one that must wait at a
// join leaves it for another. CLUSTER 2022, section IV-B.
//
// A join whose child has not begun starts it, and goes on when it ends, at once: the child knows its joiner. Any other
// join that must wait is outstanding: its task goes to the end of the worker's wait queue, of which the scheduler looks
// at one after each steal that failed, as in the paper.
//
// Invariant: a task that has begun and not ended runs, or is in the queue once, or is the joiner of exactly one task
// that has begun, namely that whose record it waits for. So nobody waits behind a task that he does not need, and
// whoever can go on is found.
#pragma once

#include <deque>

#include "libcore/task/exceptions.hpp"
#include "libcore/task/sched_child.hpp"
#include "libcore/task/task_stacks.hpp"

namespace tobi::tasks {

class sched_child_full final : public sched_child {
 public:
  explicit sched_child_full(worker& w);
  [[nodiscard]] std::string_view name() const noexcept override { return "child_full"; }
  void run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) override;
  bool run_something() override;
  void wait(std::uint64_t where, record& copy) override;
  [[nodiscard]] std::vector<std::uint64_t> tied_tasks_wait_for() const override;
  [[nodiscard]] std::size_t touched_stack_bytes() const noexcept override { return stacks_.touched_bytes(); }
  [[nodiscard]] std::string explain_fault(const void* address) const override;

 private:
  /// A task that has begun; it lies at the top of its stack.
  struct thread {
    std::byte* top;
    std::uintptr_t sp;  // where it was saved
    descriptor child;
    void (*root)(void*);  // the root instead of a child
    void* root_argument;
    running as;
    scopes governing;
    bool begun;
    std::uint64_t waits_for;  // the record; 0: it does not wait
    std::uint64_t since_ns;   // of the join, when it is outstanding
    thread* joiner;           // waits for this one's end, and runs next
    exceptions_under_way exceptions;
  };

  thread* make_thread();
  thread* start(const descriptor& child);
  void run(thread* t);
  thread* enter(thread& t);
  bool look_at_one_waiting();
  static void first_of_stack(void* of);

  task_stacks stacks_;
  std::deque<thread*> waiting_;
  thread* current_ = nullptr;
};

}  // namespace tobi::tasks
