// SPDX-License-Identifier: Apache-2.0
// How tasks that may move are entered, leave and wait.
//
// An exception under way, or in a catch clause, is memory of its process, and so is the C++ runtime's count of them. It
// passes no frame above its task's first function. A task that must wait takes all that the process has: they are saved
// with it, in a queue of this worker, which looks at the records in turn.
//
// One may belong to a parent whose frames are here, and which has forked the task in a destructor or catch clause. No
// thief has seen the entries of such parents, which then wait together with the task, as one stack: its image holds the
// frames of all, and goes on here with the same entries. Strict fork-join programs never come here: there a join waits
// only when the continuation was taken, and all older ones with it.
#include "libcore/sched/continuation.hpp"

#include <cstring>
#include <utility>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "libcore/base/log.hpp"
#include "libcore/sched/divisions.hpp"
#include "libcore/sched/idler.hpp"
#include "libcore/sched/outstanding.hpp"
#include "libcore/sched/presence.hpp"
#include "libcore/sched/thief.hpp"
#include "libcore/task/closure_watch.hpp"
#include "libcore/task/door.hpp"
#include "libcore/task/exceptions.hpp"
#include "libcore/task/fences.hpp"
#include "libcore/task/records.hpp"
#include "libcore/task/region.hpp"
#include "libcore/task/task_thread.hpp"
#include "libcore/trace/trace.hpp"
#include "tobi/detail/fork.hpp"

namespace tobi::sched {

namespace {

// Enters the task saved at SP: out of the door, and in again when it leaves.
void enter(std::uintptr_t sp) noexcept {
  tasks::the_door.step_out();
  tobi_enter(sp);
}

}  // namespace

// --- what to run next ----------------------------------------------------------------------------------

void sched_continuation::run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) {
  const std::uintptr_t sp = s_.region.place_root(argument, argument_bytes);
  s_.work->reset(s_.region.high(), 0);
  s_.scopes.entered(0);
  begin_task();
  s_.divisions.root_begins();
  tobi_enter_root(sp, first, reinterpret_cast<void*>(sp));
  after_leave();
}

// One round: the caller may sleep before the next, so each waiting task has had its turn before.
bool sched_continuation::run_something() {
  s_.presence.awaken_stayed();
  std::size_t turns = queue_.turns();
  tasks::wait_queue::waiting task{};
  do {
    if (run_ready() || run_arrival()) return true;
    const bool any = queue_.size() != 0;
    const std::uint64_t still = any ? s_.outstanding.not_done_yet(0) : 0;
    if (any && queue_.take_near(*s_.net, still, task)) {
      go_on(task);
      return true;
    }
    if (steal_once()) return true;
    if (any && queue_.take_far(*s_.net, still, task)) {
      go_on(task);
      return true;
    }
  } while (turns-- > 1);
  s_.idler.looks_at_records(queue_.size() != 0 || s_.presence.has_stayed());
  return false;
}

bool sched_continuation::run_ready() {
  const std::uint64_t list = s_.presence.ready().take();
  if (list == 0) return false;
  resume(list);
  return true;
}

// A task that was sent here. Others count it as something that this worker has taken, like what it steals.
bool sched_continuation::run_arrival() {
  const std::uint64_t image = s_.presence.take_arrival();
  if (image == 0) return false;
  resume(image);
  return true;
}

bool sched_continuation::steal_once() {
  trace::stolen got;
  const trace::steal_result result = s_.thief.steal(got);
  if (result == trace::steal_result::context) resume(got.list);
  if (result != trace::steal_result::taken) return result == trace::steal_result::context;
  const std::uint64_t mark = arch::cycles();
  const auto* frame = reinterpret_cast<const arch::saved_frame*>(got.sp);
  tasks::region::tell_parent(*frame, got.base);
  s_.work->reset(got.base, frame->die_record);
  s_.scopes.entered(frame->finish);
  got.spent(steal_phase::resume, mark);
  s_.thief.count_phases(got);
  s_.thief.acquire(got);
  begin_task();
  s_.region.cut_from_parent(got.base);
  enter(got.sp);
  after_leave();
  return true;
}

// The first task of LIST goes on here; the lists that are left may be taken, and are next here if they are not.
void sched_continuation::resume(std::uint64_t list) {
  deque::waiter_links before{};
  const std::uintptr_t sp = bring_back(net::location{list & ~deque::location_tags}, before);
  for (const std::uint64_t rest : before.rest(list)) {
    if (rest != 0) s_.presence.ready().push(rest);
  }
  s_.presence.show_ready();
  enter_restored(sp);
}

// A task of the queue, whose record is done.
void sched_continuation::go_on(const tasks::wait_queue::waiting& task) {
  tasks::record copy;
  s_.records.read_done(task.record, copy);
  const std::uint64_t resumable_ns = s_.outstanding.resumable_since(task.since_ns, copy);
  s_.still.moves();
  if (trace::tracing != nullptr) trace::tracing->ready_since(task.task, resumable_ns);
  deque::waiter_links none{};
  const std::uintptr_t sp = bring_back(net::location{task.task}, none);
  if (const auto stack = put_away_.extract(task.task); !stack.empty()) {
    give_stack(stack.mapped(), s_.work->task_base());
  }
  had_to_wait_ = false;
  s_.outstanding.went_on(resumable_ns);
  enter_restored(sp);
}

// --- in ----------------------------------------------------------------------------------------------------

std::uintptr_t sched_continuation::bring_back(net::location where, deque::waiter_links& before) {
  const std::uint64_t begin_ns = trace::tracing != nullptr ? trace::tracer::now() : 0;
  const deque::image head = s_.region.head(where);
  before = head.before;
  had_to_wait_ = head.waiting_for != 0;
  if (had_to_wait_) s_.still.goes_on();
  const std::uintptr_t base = s_.region.restore(where, head);
  s_.work->reset(base, head.die_record);
  // What it wrote before it was suspended elsewhere was released there.
  if (!s_.net->is_local(where)) s_.fences.acquire(0);
  if (trace::tracing != nullptr) trace::tracing->resumed(where.word, where.rank(), begin_ns);
  return head.sp;
}

void sched_continuation::enter_restored(std::uintptr_t sp) {
  begin_task();
  enter(sp);
  after_leave();
}

void sched_continuation::begin_task() noexcept {
  TOBI_ASSERT(!s_.thread.inside_task(), "a worker that brings frames into its region has no live frame there");
  s_.presence.set_busy(true);
  s_.divisions.none();
}

// --- out -----------------------------------------------------------------------------------------------

// The running task has left. Follows the region until it is empty.
void sched_continuation::after_leave() {
  for (;;) {
    std::uintptr_t next = 0;
    switch (std::exchange(left_, left::died)) {
      case left::forked:
        migrate_at_fork();
        continue;
      case left::suspended:
        next = suspend_task(left::suspended);
        break;
      case left::sent:
        next = suspend_task(left::sent);
        break;
      case left::died:
        break;
    }
    if (next == 0) next = leave_region();
    if (next == 0) return;
    s_.divisions.none();
    enter(next);
  }
}

// The running task has left, and its parent is elsewhere. An older one may still be here, where thieves of this node
// and of others have a window each: it goes on in place, as if this worker had stolen it, before anything is brought
// into the region. Returns its stack pointer, or 0 when the region is empty.
std::uintptr_t sched_continuation::leave_region() {
  const std::uintptr_t sp = s_.work->take_older();
  s_.presence.set_busy(false);
  s_.idler.settle();
  if (sp == 0) return 0;
  const auto* frame = reinterpret_cast<const arch::saved_frame*>(sp);
  s_.scopes.forget_below(sp);
  tasks::region::tell_parent(*frame, s_.work->task_base());
  s_.presence.show_ready();  // what the task that has left has awakened waits no longer for this worker
  begin_task();
  return sp;
}

std::uint64_t sched_continuation::evacuate(std::uintptr_t sp, std::uintptr_t base, std::uint64_t die_record,
                                           std::uint64_t waiting_for) {
  // SC'23, figure 5: Release #3. The worker that resumes the task may be elsewhere, unless it waits in this worker's
  // own queue.
  if (s_.fences.used() && (waiting_for == 0 || moves_at_joins())) s_.fences.release();
  return s_.region.evacuate(sp, base, die_record, waiting_for);
}

// The greedy join's second half, on the scheduler's stack: CLUSTER 2022, figure 4, lines 44 to 50. A task that is sent
// leaves in the same way, with the place of a record taken by a word of another worker. Returns the stack pointer to
// enter next, or 0 when the region is empty now.
std::uintptr_t sched_continuation::suspend_task(left how) {
  const std::uint64_t begin_ns = trace::tracing != nullptr ? trace::tracer::now() : 0;
  const std::uint64_t begin = arch::cycles();
  deque::deque& work = *s_.work;
  const std::uintptr_t sp = tobi_hot.suspended_sp;
  const bool is_tied = s_.thread.has_exceptions();
  put_away stack;
  if (is_tied) [[unlikely]] {
    stack = take_stack();
  }
  const std::uintptr_t base = work.task_base();
  if (is_tied) [[unlikely]] {
    stack.innermost = s_.scopes.innermost_in(sp, base);
  }
  std::uintptr_t parent = 0;
  std::uint64_t dies_to = 0;
  // With futures a task may wait while its parent is still here: the parent then runs on as if this worker had stolen
  // it.
  if (!work.at_base() && work.pop(base)) {
    parent = base;
    if (reinterpret_cast<const arch::saved_frame*>(parent)->handle != nullptr) dies_to = s_.records.need();
  } else {
    dies_to = work.die_record();
  }

  const std::uint64_t mine = evacuate(sp, base, dies_to, how == left::sent ? 0 : waiting_for_);
  bool waits = true;
  if (how == left::sent) {
    if (parent != 0 && dies_to != 0 && s_.net->mapped(sent_to_) == nullptr) {
      s_.records.child_is_sent(net::location{dies_to});
    }
    waits = s_.presence.send(sent_to_, mine, tied_);
  } else if (is_tied) [[unlikely]] {
    stays_here(mine, waiting_for_);
    put_away_.emplace(mine, std::move(stack));
  } else if (moves_at_joins() && s_.records.waits_for_sent(net::location{waiting_for_})) {
    s_.presence.stays(mine, waiting_for_);
  } else {
    waits = park(mine, waiting_for_);
  }
  if (!waits) {
    // The child was faster, or the other worker has no room. The task's frames are where they were: it goes on.
    s_.objects.free_own(net::location{mine});
    if (parent != 0) {
      if (dies_to != 0) s_.records.drop(dies_to);
      work.push_again();
    }
    return sp;
  }
  s_.counts.suspend_cycles += arch::cycles() - begin;
  if (trace::tracing != nullptr) {
    trace::tracing->suspended(mine, begin_ns);
    if (how == left::sent) trace::tracing->ready(mine);
  }
  if (how == left::suspended) s_.outstanding.waits();
  if (parent == 0) return 0;
  auto* frame = reinterpret_cast<arch::saved_frame*>(parent);
  frame->record = dies_to;
  s_.scopes.forget_below(parent);
  tasks::region::tell_parent(*frame, work.task_base());
  return parent;
}

// The running task must wait, and an exception is under way: that, and the entries of those parents that it may belong
// to. Thieves have not seen them. The frames of all of them are one stack, to be saved as one image.
sched_continuation::put_away sched_continuation::take_stack() {
  put_away taken{tasks::take_exceptions(), {}, 0, nullptr};
  const std::uintptr_t owned = tasks::owned_up_to(taken.exceptions);
  for (std::uintptr_t top = s_.work->task_base(); top <= owned && s_.work->unseen() != 0; top = s_.work->task_base()) {
    taken.entries.push_back(top);
    s_.work->pop(top);
  }
  taken.depth = s_.work->depth();
  return taken;
}

// The exceptions first: while they are there thieves do not see the entries.
void sched_continuation::give_stack(const put_away& stack, std::uintptr_t base) {
  tasks::give_exceptions(stack.exceptions);
  s_.work->put_back(stack.depth, stack.entries);
  if (stack.innermost != nullptr) s_.scopes.entered_together(stack.innermost, base);
}

// TOBI_DEBUG_MIGRATE: the parent's continuation is evacuated as if it had been stolen, and its frames become a trap.
void sched_continuation::migrate_at_fork() {
  const std::uintptr_t sp = forked_sp_;
  --tobi_hot.bottom;  // the entry that the fork has pushed
  const std::uintptr_t base = s_.work->task_base();
  const auto* type = static_cast<const detail::task_type*>(forked_type_);

  auto* frame = reinterpret_cast<arch::saved_frame*>(sp);
  frame->record = frame->handle == nullptr ? 0 : s_.records.need();
  tasks::region::tell_parent(*frame, base);
  const std::uint64_t child_dies_to = frame->record;

  // One that is not empty travels in registers, or lies in the parent's frames.
  moved_closure_.resize(type->closure_bytes);
  if (type->closure_bytes != 0) {
    std::memcpy(moved_closure_.data(), reinterpret_cast<const void*>(forked_words_[0]), type->closure_bytes);
  }
  s_.presence.ready().push(evacuate(sp, base, s_.work->die_record(), 0));
  s_.scopes.entered(s_.scopes.at(sp));  // while its markers can still be read

  const std::uintptr_t child_sp = (s_.region.close(sp, base) - type->closure_bytes) & ~std::uintptr_t{15};
  if (type->closure_bytes != 0) {
    std::memcpy(reinterpret_cast<void*>(child_sp), moved_closure_.data(), type->closure_bytes);
    forked_words_[0] = child_sp;
  }
  s_.work->reset(child_sp, child_dies_to);
  tasks::the_door.step_out();
  tobi_enter_child(child_sp, forked_words_.data(), type);
}

// --- in a task -----------------------------------------------------------------------------------------

void sched_continuation::forked(std::uintptr_t sp, std::uint64_t* words) noexcept {
  if (s_.parts.debug_migrate) [[unlikely]] {
    leave_at_fork(sp, words);
  }
  s_.work->forked();
}

// Returns where an exception is under way, which the continuation cannot take along.
void sched_continuation::leave_at_fork(std::uintptr_t sp, const std::uint64_t* words) noexcept {
  s_.parts.closures->forked(words, *reinterpret_cast<const detail::task_type*>(words[4]));
  if (s_.thread.has_exceptions()) return;
  forked_sp_ = sp;
  std::memcpy(&forked_words_, words, sizeof forked_words_);
  forked_type_ = reinterpret_cast<const void*>(words[4]);
  left_ = left::forked;
  tobi_leave();
}

void sched_continuation::wait(std::uint64_t where, tasks::record& copy) {
  const division_kept kept(s_.divisions);
  waiting_for_ = where;
  left_ = left::suspended;
  tobi_suspend();
  tasks::the_door.step_in();
  // Perhaps another process by now; `this` is the scheduler there. `copy` is on the stack and moved along.
  s_.records.read_done(where, copy);
  // Where it was completed on a host with another clock the time is not known, and counts as none.
  if (std::exchange(had_to_wait_, false) && s_.outstanding.one_clock_with(copy.by())) {
    s_.outstanding.went_on(copy.done_ns);
  }
}

// An exception of this process holds the task here.
void sched_continuation::go_to(int rank, bool tied) noexcept {
  if (rank == s_.net->rank() || s_.thread.has_exceptions()) return;
  const division_kept kept(s_.divisions);
  sent_to_ = rank;
  tied_ = tied;
  left_ = left::sent;
  tobi_suspend();
  tasks::the_door.step_in();
}

std::size_t sched_continuation::held_by_exceptions() const {
  std::size_t held = 0;
  for (const auto& [where, stack] : put_away_) held += stack.exceptions.uncaught != 0 ? stack.entries.size() : 0;
  return held;
}

void sched_continuation::stays_here(std::uint64_t where, std::uint64_t record) {
  queue_.push(*s_.net, {where, record, arch::now_ns()});
}

}  // namespace tobi::sched
