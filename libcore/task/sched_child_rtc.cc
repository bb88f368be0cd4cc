#include "libcore/task/sched_child_rtc.hpp"

#include <cstring>

#include "arch/clock.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/task/worker.hpp"

namespace tobi::tasks {

sched_child_rtc::sched_child_rtc(worker& w)
    : sched_child(w),
      stacks_(static_cast<std::size_t>(w.parts().stack_high - w.parts().stack_low), "TOBI_STACK_SIZE"),
      top_(stacks_.take()) {}

void sched_child_rtc::run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) {
  const std::uintptr_t sp = (reinterpret_cast<std::uintptr_t>(top_) - argument_bytes) & ~std::uintptr_t{63};
  std::memcpy(reinterpret_cast<void*>(sp), argument, argument_bytes);
  running_ = {};
  w_.governing().entered(0);
  w_.set_busy(true);
  tobi_enter_root(sp, first, reinterpret_cast<void*>(sp));
  w_.set_busy(false);
}

bool sched_child_rtc::run_something() {
  if (!pop(first_) && !steal(first_)) return false;
  w_.set_busy(true);
  tobi_enter_root(reinterpret_cast<std::uintptr_t>(top_), &first_of_stack, this);
  w_.set_busy(false);
  return true;
}

void sched_child_rtc::first_of_stack(void* self) {
  auto& me = *static_cast<sched_child_rtc*>(self);
  const descriptor child = me.first_;
  me.running_ = {};
  me.execute(child);
  tobi_leave();
}

void sched_child_rtc::wait(std::uint64_t where, record& copy) {
  std::uint64_t since_ns = 0;  // 0: the join is not outstanding, all that it waited for was here
  std::uint64_t idle_since = 0;
  unsigned attempts = 0;
  const auto outstanding = [&] {
    if (since_ns != 0) return;
    since_ns = arch::now_ns();
    w_.tied_task_waits();
    waiting_.push_back(where);
  };
  do {
    descriptor child;
    if (pop(child)) {
      if (child.record != where) outstanding();
      execute(child);
      attempts = 0;
    } else {
      outstanding();
      since_ns = w_.not_done_yet(since_ns);
      if (!running_.marked && steal(child)) {
        execute(child);
        attempts = 0;
      } else {
        if (attempts == 0) idle_since = arch::now_ns();
        if (w_.idle(attempts)) w_.nothing_runs_since(idle_since);
      }
    }
  } while (!w_.finished(where, copy));
  if (since_ns == 0) return;
  waiting_.pop_back();
  w_.tied_task_goes_on(w_.resumable_since(since_ns, copy));
}

std::string sched_child_rtc::explain_fault(const void* address) const {
  if (!stacks_.is_guard(address)) return "";
  return "the stack of the tasks that run on top of each other (child_rtc) is full: it has " +
         base::format_size(stacks_.bytes()) + "; raise TOBI_STACK_SIZE (at most 128M) or nest less deeply.";
}

}  // namespace tobi::tasks
