// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/child_rtc.hpp"

#include <cstring>
#include <utility>

#include "arch/clock.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/sched/idler.hpp"
#include "libcore/sched/outstanding.hpp"
#include "libcore/sched/presence.hpp"
#include "libcore/task/records.hpp"
#include "libcore/task/scopes.hpp"
#include "libcore/trace/trace.hpp"

namespace tobi::sched {

sched_child_rtc::sched_child_rtc(services& shared)
    : sched_child(shared),
      stacks_(static_cast<std::size_t>(shared.parts.stack_high - shared.parts.stack_low), "TOBI_STACK_SIZE",
              "the stack of the tasks that run on top of each other (child_rtc) is full: it has " +
                  base::format_size(static_cast<std::size_t>(shared.parts.stack_high - shared.parts.stack_low)) +
                  "; raise TOBI_STACK_SIZE (at most 128M) or nest less deeply."),
      top_(stacks_.take()) {}

void sched_child_rtc::run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) {
  const std::uintptr_t sp = (reinterpret_cast<std::uintptr_t>(top_) - argument_bytes) & ~std::uintptr_t{63};
  std::memcpy(reinterpret_cast<void*>(sp), argument, argument_bytes);
  running_ = {};
  s_.scopes.entered(0);
  s_.presence.set_busy(true);
  tobi_enter_root(sp, first, reinterpret_cast<void*>(sp));
  s_.presence.set_busy(false);
}

bool sched_child_rtc::run_something() {
  if (!pop(first_) && !steal(first_)) return false;
  s_.presence.set_busy(true);
  tobi_enter_root(reinterpret_cast<std::uintptr_t>(top_), &first_of_stack, this);
  s_.presence.set_busy(false);
  return true;
}

void sched_child_rtc::first_of_stack(void* self) {
  auto& me = *static_cast<sched_child_rtc*>(self);
  const descriptor child = me.first_;
  me.running_ = {};
  me.execute(child);
  tobi_leave();
}

void sched_child_rtc::wait(std::uint64_t where, tasks::record& copy) {
  std::uint64_t since_ns = 0;  // 0: the join is not outstanding, all that it waited for was here
  std::uint64_t idle_since = 0;
  unsigned attempts = 0;
  const auto outstanding = [&] {
    if (since_ns != 0) return;
    since_ns = arch::now_ns();
    s_.outstanding.tied_task_waits(&since_ns);
    waiting_.push_back(where);
  };
  // For the tracer alone: this worker is in a task all the time, which does nothing while it looks for another one.
  bool looks = false;
  const auto looking = [&](bool now_looks) {
    if (std::exchange(looks, now_looks) == now_looks || trace::tracing == nullptr) return;
    if (now_looks) {
      trace::tracing->task_ends();
    } else {
      trace::tracing->task_begins();
    }
  };
  do {
    descriptor child;
    if (pop(child)) {
      if (child.record != where) outstanding();
      looking(false);
      execute(child);
      attempts = 0;
    } else {
      outstanding();
      since_ns = s_.outstanding.not_done_yet(since_ns);
      looking(true);
      if (!running_.marked && steal(child)) {
        looking(false);
        execute(child);
        attempts = 0;
      } else {
        if (attempts == 0) idle_since = arch::now_ns();
        if (s_.idler.idle(attempts)) s_.idler.nothing_runs_since(idle_since);
      }
    }
  } while (!s_.records.finished(where, copy));
  if (since_ns == 0) return;
  looking(false);
  waiting_.pop_back();
  s_.outstanding.tied_task_goes_on(&since_ns, s_.outstanding.resumable_since(since_ns, copy));
}

}  // namespace tobi::sched
