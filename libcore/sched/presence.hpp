// SPDX-License-Identifier: Apache-2.0
// What others see of this worker, and what it does for them: whether it runs a task, the suspended tasks that are
// ready, what thieves have asked for, and its attendant, which does all of that while the worker computes.
#pragma once

#include <cstdint>
#include <memory>

#include "libcore/deque/deque.hpp"
#include "libcore/deque/ready.hpp"
#include "libcore/deque/window.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/sched/attendant.hpp"
#include "libcore/sched/parts.hpp"
#include "libcore/sched/sights.hpp"
#include "libcore/sched/sleepers.hpp"
#include "libcore/sched/thief.hpp"
#include "libcore/task/fences.hpp"
#include "libcore/task/poller.hpp"
#include "libcore/task/task_thread.hpp"

namespace tobi::sched {

class presence final : public attended {
 public:
  presence(tasks::task_thread& thread, const tasks::fences& memory, const tasks::poller& mover, sights& seen,
           thief& of_others, sleepers& others) noexcept
      : thread_(thread), fences_(memory), poller_(mover), sights_(seen), thief_(of_others), sleepers_(others) {}
  /// SHOWS_READY: thieves take suspended tasks that are ready. ALL_NEAR: each other worker is of this node and mapped.
  void start(const worker_parts& parts, deque::deque& work, bool shows_ready, bool all_near);
  void stop() noexcept { attendant_.reset(); }

  /// The worker runs a task from now on, or none.
  void set_busy(bool in_a_task) noexcept;
  /// Whether a thief has asked for work since the deque has served it.
  [[nodiscard]] bool asked_for_work() const noexcept { return deque::asked(*window_); }
  /// What it looks like to other nodes is to be told.
  void tell() noexcept { sights_.tell(); }

  /// Suspended tasks that can go on.
  [[nodiscard]] deque::ready_contexts& ready() noexcept { return ready_; }
  /// Shows them to thieves. What does not fit is shown as thieves make room, which a task that computes does not see.
  void show_ready() noexcept {
    if (ready_.has_more()) show_more();
  }

  /// Does what others want of this worker; callable between tasks, too.
  void poll() noexcept;

  // --- of the attendant ------------------------------------------------------------------------------------
  bool attend() noexcept override;
  [[nodiscard]] bool may_sleep() const noexcept override { return net_->transport().may_sleep(); }
  [[nodiscard]] std::uint64_t sign_of_life() const noexcept override { return poller_.sign_of_life(); }

 private:
  void show_more() noexcept;
  void start_attendant(const worker_parts& parts, bool all_can_call);

  tasks::task_thread& thread_;
  const tasks::fences& fences_;
  const tasks::poller& poller_;
  sights& sights_;
  thief& thief_;
  sleepers& sleepers_;
  net::fabric* net_ = nullptr;
  deque::deque* deque_ = nullptr;
  deque::steal_window* window_ = nullptr;
  deque::ready_contexts ready_;
  std::unique_ptr<attendant> attendant_;  // null: there are no thieves, or none can be let in
  bool debug_migrate_ = false;
};

}  // namespace tobi::sched
