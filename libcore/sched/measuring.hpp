// SPDX-License-Identifier: Apache-2.0
// TOBI_WORK_SPAN: one worker runs the program in the order of its serial elision, and measures its work and its span
// (libcore/trace/work_span.hpp).
//
// A fork runs the child at once, as a function call on top of its parent, in the slow path that the doorbell leads to.
// Then tobi_fork calls nothing in its place. The child completes a record, as if its parent had been taken, so that the
// join comes here, too, and goes on behind the longer one of the two paths. The fork path is what it always is.
//
// What this costs is neither work nor span: the clock stands still in forks and joins. What is left of the cost, from
// the fork to where the clock is stopped, is measured before the first run with children that do nothing, and taken off
// of each fork by its mean, less what a fork costs that nobody measures. A program whose tasks are as short as fib's is
// still measured badly, because such a mean is not the same in each place. tobi-report says so.
//
// A task that waits for what comes later in that order waits forever, which the elision does, too: the job ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "libcore/sched/child.hpp"
#include "libcore/task/task_stacks.hpp"
#include "libcore/trace/work_span.hpp"

namespace tobi::sched {

class sched_measuring final : public sched_child {
 public:
  explicit sched_measuring(services& shared);
  [[nodiscard]] std::string_view name() const noexcept override { return "work_span"; }
  [[nodiscard]] bool puts_tasks_aside() const noexcept override { return false; }
  void forked(std::uintptr_t sp, std::uint64_t* words) noexcept override;
  void wait(std::uint64_t where, tasks::record& copy) override;
  void conclude(net::location where, tasks::record& made) noexcept override;
  void goes_on_behind(const tasks::record& done) noexcept override;
  void strand_ends(std::uint64_t finish) noexcept override;
  void goes_on_behind_finish(std::uint64_t finish) noexcept override;
  [[nodiscard]] std::vector<std::uint64_t> tied_tasks_wait_for() const override { return {}; }
  [[nodiscard]] std::size_t touched_stack_bytes() const noexcept override { return stacks_.touched_bytes(); }
  [[nodiscard]] std::string_view explain_fault(const void* address) const noexcept override {
    return stacks_.explain_fault(address);
  }
  [[nodiscard]] const trace::measured_program* measured() const noexcept override { return &measured_; }

 private:
  void run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) override;
  bool run_something() override { return false; }
  /// As a root of its own: what a fork and a join cost in strands.
  static void calibrate(void* self);

  trace::lost_core core_;
  trace::span_clock clock_;
  trace::measured_program measured_;
  bool calibrated_ = false;
  std::vector<trace::longest_path> ends_;  // of records that somebody will join; each knows its own by `done_ns`
  std::vector<std::size_t> free_;          // of these, the last one used first
  std::unordered_map<std::uint64_t, trace::longest_path> finishes_;  // the longest of those whose strands have ended
  tasks::task_stacks stacks_;
  std::byte* top_;
};

}  // namespace tobi::sched
