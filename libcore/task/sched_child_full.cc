#include "libcore/task/sched_child_full.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "arch/clock.hpp"
#include "libcore/base/door.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/task/worker.hpp"

namespace tobi::tasks {

sched_child_full::sched_child_full(worker& w)
    : sched_child(w), stacks_(w.parts().task_stack_bytes, "TOBI_TASK_STACK_SIZE") {}

sched_child_full::thread* sched_child_full::make_thread() {
  std::byte* top = stacks_.take();
  // Below its thread a stack starts on a line of its own.
  const auto at = (reinterpret_cast<std::uintptr_t>(top) - sizeof(thread)) & ~std::uintptr_t{63};
  auto* t = new (reinterpret_cast<void*>(at)) thread{};
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
  std::size_t turns = waiting_.size();
  do {
    if (descriptor child; pop(child) || steal(child)) {
      run(start(child));
      return true;
    }
    if (look_at_one_waiting()) return true;
  } while (turns-- > 1);
  return false;
}

bool sched_child_full::look_at_one_waiting() {
  if (waiting_.empty()) return false;
  thread* t = waiting_.front();
  waiting_.pop_front();
  record copy;
  if (!w_.finished(t->waits_for, copy)) {
    t->since_ns = w_.not_done_yet(t->since_ns);
    waiting_.push_back(t);
    return false;
  }
  w_.tied_task_goes_on(w_.resumable_since(t->since_ns, copy));
  run(t);
  return true;
}

void sched_child_full::run(thread* t) {
  w_.set_busy(true);
  while (t != nullptr) t = enter(*t);
  w_.set_busy(false);
}

// Runs T until it ends or must wait; answers who runs next, or null.
sched_child_full::thread* sched_child_full::enter(thread& t) {
  current_ = &t;
  running_ = t.as;
  w_.governing() = t.governing;
  give_exceptions(t.exceptions);
  if (std::exchange(t.begun, true)) {
    base::the_door.step_out();
    tobi_enter(t.sp);
  } else if (t.root != nullptr) {
    tobi_enter_root(t.sp, t.root, t.root_argument);
  } else {
    tobi_enter_root(t.sp, &first_of_stack, &t);
  }
  t.exceptions = take_exceptions();
  current_ = nullptr;
  if (t.waits_for == 0) {  // it has ended
    thread* next = t.joiner;
    stacks_.give(t.top);
    return next;
  }
  t.sp = tobi_hot.suspended_sp;
  t.as = running_;
  t.governing = w_.governing();
  descriptor child;
  thread* next = pop(child) ? start(child) : nullptr;
  if (next != nullptr && child.record == t.waits_for) {
    next->joiner = &t;
  } else {
    t.since_ns = arch::now_ns();
    w_.tied_task_waits();
    waiting_.push_back(&t);
  }
  return next;
}

void sched_child_full::first_of_stack(void* of) {
  auto& t = *static_cast<thread*>(of);
  static_cast<sched_child_full&>(this_worker().sched()).execute(t.child);
  tobi_leave();
}

void sched_child_full::wait(std::uint64_t where, record& copy) {
  current_->waits_for = where;
  tobi_suspend();
  base::the_door.step_in();
  current_->waits_for = 0;
  w_.read_done(where, copy);
}

// Those of the queue, and the joiners above them.
std::vector<std::uint64_t> sched_child_full::tied_tasks_wait_for() const {
  std::vector<std::uint64_t> records;
  for (const thread* t : waiting_) {
    for (; t != nullptr; t = t->joiner) records.push_back(t->waits_for);
  }
  return records;
}

std::string sched_child_full::explain_fault(const void* address) const {
  if (!stacks_.is_guard(address)) return "";
  return "the stack of a task is full: with child_full each has " + base::format_size(stacks_.bytes()) +
         "; raise TOBI_TASK_STACK_SIZE or nest calls less deeply.";
}

}  // namespace tobi::tasks
