// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/child_full.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/sched/outstanding.hpp"
#include "libcore/sched/presence.hpp"
#include "libcore/task/door.hpp"
#include "libcore/task/records.hpp"

namespace tobi::sched {

sched_child_full::sched_child_full(services& shared)
    : sched_child(shared),
      stacks_(shared.parts.task_stack_bytes, "TOBI_TASK_STACK_SIZE",
              "the stack of a task is full: with child_full each has " +
                  base::format_size(shared.parts.task_stack_bytes) +
                  "; raise TOBI_TASK_STACK_SIZE or nest calls less deeply.") {}

sched_child_full::thread* sched_child_full::make_thread() {
  std::byte* top = stacks_.take();
  // Below its thread a stack starts on a line of its own.
  const auto at = (reinterpret_cast<std::uintptr_t>(top) - sizeof(thread)) & ~std::uintptr_t{63};
  auto* t = new (reinterpret_cast<void*>(at)) thread{};
  t->runs_it = this;
  t->top = top;
  t->sp = at;
  return t;
}

sched_child_full::thread* sched_child_full::start(const descriptor& child) {
  thread* t = make_thread();
  t->child = child;
  return t;
}

void sched_child_full::run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) {
  if (argument_bytes + sizeof(thread) > stacks_.bytes() / 2) {
    base::fatal("the closure of the root task does not fit its stack; raise TOBI_TASK_STACK_SIZE.");
  }
  thread* root = make_thread();
  root->sp = (root->sp - argument_bytes) & ~std::uintptr_t{63};
  root->root = first;
  root->root_argument = reinterpret_cast<void*>(root->sp);
  std::memcpy(root->root_argument, argument, argument_bytes);
  run(root);
}

// One round: the caller may sleep before the next, so each waiting task has had its turn before.
bool sched_child_full::run_something() {
  std::size_t turns = waiting_.turns();
  tasks::wait_queue::waiting task{};
  do {
    descriptor child;
    if (pop(child)) {
      run(start(child));
      return true;
    }
    const std::uint64_t still = s_.outstanding.not_done_yet(0);
    if (waiting_.take_near(*s_.net, still, task)) {
      go_on(task);
      return true;
    }
    if (steal(child)) {
      run(start(child));
      return true;
    }
    if (waiting_.take_far(*s_.net, still, task)) {
      go_on(task);
      return true;
    }
  } while (turns-- > 1);
  return false;
}

void sched_child_full::go_on(const tasks::wait_queue::waiting& task) {
  tasks::record copy;
  s_.records.read_done(task.record, copy);
  auto* t = reinterpret_cast<thread*>(task.task);
  s_.outstanding.tied_task_goes_on(t, s_.outstanding.resumable_since(task.since_ns, copy));
  run(t);
}

void sched_child_full::run(thread* t) {
  s_.presence.set_busy(true);
  while (t != nullptr) t = enter(*t);
  s_.presence.set_busy(false);
}

// Runs T until it ends or must wait; returns what runs next, or null.
sched_child_full::thread* sched_child_full::enter(thread& t) {
  current_ = &t;
  running_ = t.as;
  s_.scopes = t.governing;
  tasks::give_exceptions(t.exceptions);
  if (std::exchange(t.begun, true)) {
    tasks::the_door.step_out();
    tobi_enter(t.sp);
  } else if (t.root != nullptr) {
    tobi_enter_root(t.sp, t.root, t.root_argument);
  } else {
    tobi_enter_root(t.sp, &first_of_stack, &t);
  }
  t.exceptions = tasks::take_exceptions();
  current_ = nullptr;
  if (t.waits_for == 0) {  // it has ended
    thread* next = t.joiner;
    stacks_.give(t.top);
    return next;
  }
  t.sp = tobi_hot.suspended_sp;
  t.as = running_;
  t.governing = s_.scopes;
  descriptor child;
  thread* next = pop(child) ? start(child) : nullptr;
  if (next != nullptr && child.record == t.waits_for) {
    next->joiner = &t;
  } else {
    s_.outstanding.tied_task_waits(&t);
    waiting_.push(*s_.net, {reinterpret_cast<std::uint64_t>(&t), t.waits_for, arch::now_ns()});
  }
  return next;
}

void sched_child_full::first_of_stack(void* of) {
  auto& t = *static_cast<thread*>(of);
  t.runs_it->execute(t.child);
  tobi_leave();
}

void sched_child_full::wait(std::uint64_t where, tasks::record& copy) {
  current_->waits_for = where;
  tobi_suspend();
  tasks::the_door.step_in();
  current_->waits_for = 0;
  s_.records.read_done(where, copy);
}

// Those of the queue, and the joiners above them.
std::vector<std::uint64_t> sched_child_full::tied_tasks_wait_for() const {
  std::vector<std::uint64_t> records;
  for (const tasks::wait_queue::waiting& one : waiting_.all()) {
    for (const auto* t = reinterpret_cast<const thread*>(one.task); t != nullptr; t = t->joiner)
      records.push_back(t->waits_for);
  }
  return records;
}

}  // namespace tobi::sched
