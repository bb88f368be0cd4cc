// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/measuring.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/sched/presence.hpp"
#include "libcore/task/door.hpp"
#include "libcore/task/records.hpp"
#include "libcore/task/scopes.hpp"
#include "libcore/task/task_results.hpp"
#include "tobi/task.hpp"

namespace tobi::sched {

namespace {

trace::span_clock::burdens in_cycles() noexcept {
  trace::span_clock::burdens steal{};
  for (std::size_t i = 0; i < steal.size(); ++i) {
    steal[i] = std::llround(static_cast<double>(trace::burdens_ns[i]) / arch::ns_per_cycle());
  }
  return steal;
}

constexpr std::uint64_t never_rings = 0;

// No core is taken away for less, so that only such strands are worth asking the kernel about, which takes some 500 ns.
constexpr double long_strand_ns = 20'000;

// Tasks that do nothing but fork: what programs that divide their work do at most.
std::uint64_t forks_of(unsigned levels) {
  if (levels == 0) return 0;
  auto child = spawn([levels] { return forks_of(levels - 1); });
  const std::uint64_t mine = levels < 2 ? 0 : forks_of(levels - 2);
  return child.join() + mine + 1;
}

}  // namespace

sched_measuring::sched_measuring(services& shared)
    : sched_child(shared),
      clock_(in_cycles()),
      stacks_(static_cast<std::size_t>(shared.parts.stack_high - shared.parts.stack_low), "TOBI_STACK_SIZE",
              "the stack of the tasks that run on top of each other (TOBI_WORK_SPAN) is full: it has " +
                  base::format_size(static_cast<std::size_t>(shared.parts.stack_high - shared.parts.stack_low)) +
                  "; raise TOBI_STACK_SIZE (at most 128M) or nest less deeply."),
      top_(stacks_.take()) {}

void sched_measuring::run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) {
  s_.scopes.entered(0);
  s_.presence.set_busy(true);
  if (!std::exchange(calibrated_, true)) {
    tobi_enter_root(reinterpret_cast<std::uintptr_t>(top_), &calibrate, this);
    clock_.watch(core_, std::llround(long_strand_ns / arch::ns_per_cycle()));
  }
  const std::uintptr_t sp = (reinterpret_cast<std::uintptr_t>(top_) - argument_bytes) & ~std::uintptr_t{63};
  std::memcpy(reinterpret_cast<void*>(sp), argument, argument_bytes);
  core_.begin();
  trace::measuring = &clock_;
  clock_.run_begins(arch::cycles());
  tobi_enter_root(sp, first, reinterpret_cast<void*>(sp));
  clock_.run_ends(arch::cycles(), measured_);
  trace::measuring = nullptr;
  measured_.interruptions = core_.interruptions();
  finishes_.clear();
  s_.presence.set_busy(false);
}

// Runs the child, and lets the parent go on behind it. In a task: the clock stands still (entry.cc).
void sched_measuring::forked(std::uintptr_t sp, std::uint64_t* words) noexcept {
  auto* h = static_cast<detail::handle*>(reinterpret_cast<const arch::saved_frame*>(sp)->handle);
  const auto* type = reinterpret_cast<const detail::task_type*>(words[4]);
  const std::uint64_t record = h == nullptr ? 0 : s_.records.need();
  if (h != nullptr) h->record = record;
  const trace::longest_path parent = clock_.forks();
  no_entries();  // else those of nested children would need room
  const tasks::scopes around = s_.scopes;
  s_.scopes.entered(s_.scopes.now());
  tasks::the_door.step_out();
  clock_.start(arch::cycles());
  const detail::registers2 r = type->run(words[0], nullptr, type, words[1], words[2], words[3]);
  clock_.stop(arch::cycles());
  tasks::the_door.step_in();
  clock_.child_ends();
  // The record's path is that of this moment: conclude() below.
  s_.results.complete(record, r.a, r.b);
  s_.scopes = around;
  clock_.parent_goes_on(parent);
  replace_child(words);
}

// The least of several rounds: an interrupt, or a page that is touched first, only adds. The tree is Fibonacci's, whose
// branches are not foreseen so well as a loop's: as in programs.
void sched_measuring::calibrate(void* self) {
  constexpr unsigned rounds = 20;
  constexpr unsigned levels = 12;
  auto& me = *static_cast<sched_measuring*>(self);
  const statistics before = me.s_.counts;
  tasks::the_door.step_out();
  double measured = std::numeric_limits<double>::max();
  double unmeasured = measured;
  for (unsigned round = 0; round < rounds; ++round) {
    trace::measured_program one;
    trace::measuring = &me.clock_;
    me.clock_.run_begins(arch::cycles());
    const auto forks = static_cast<double>(forks_of(levels));
    me.clock_.run_ends(arch::cycles(), one);
    trace::measuring = nullptr;
    measured = std::min(measured, static_cast<double>(one.all.work) / forks);
    const volatile std::uint64_t* const bell = std::exchange(tobi_hot.doorbell, &never_rings);
    const std::uint64_t begin = arch::cycles();
    forks_of(levels);
    unmeasured = std::min(unmeasured, static_cast<double>(arch::cycles() - begin) / forks);
    tobi_hot.doorbell = bell;
  }
  tasks::the_door.step_in();
  me.s_.counts = before;
  me.clock_.costs(std::llround(measured - unmeasured));
  tobi_leave();
}

// When it was done is no time here, but where its path is, and never 0.
void sched_measuring::conclude(net::location where, tasks::record& made) noexcept {
  if (free_.empty()) {
    ends_.emplace_back();
    free_.push_back(ends_.size());
  }
  made.done_ns = free_.back();
  free_.pop_back();
  ends_[made.done_ns - 1] = clock_.path();
  s_.records.put_done(where, made);
}

void sched_measuring::goes_on_behind(const tasks::record& done) noexcept {
  clock_.joins(ends_[done.done_ns - 1]);
  if (done.readings() == 1) free_.push_back(done.done_ns);
}

void sched_measuring::strand_ends(std::uint64_t finish) noexcept { finishes_[finish].be_at_least(clock_.path()); }

void sched_measuring::goes_on_behind_finish(std::uint64_t finish) noexcept {
  const auto at = finishes_.find(finish);
  if (at == finishes_.end()) return;
  clock_.joins(at->second);
  finishes_.erase(at);
}

void sched_measuring::wait(std::uint64_t where, tasks::record& copy) {
  const net::location at{where};
  s_.net->get(at, &copy, sizeof copy);
  base::fatal("a task waits for " + tasks::describe(copy, at.rank()) +
                  ", and what would end that comes later in the program's serial order, in which TOBI_WORK_SPAN runs "
                  "it; what waits for a promise is measured where the promise has been set before.",
              base::exit_usage);
}

}  // namespace tobi::sched
