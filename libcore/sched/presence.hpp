// SPDX-License-Identifier: Apache-2.0
// What others see of this worker, and what it does for them: whether it runs a task, the suspended tasks that are
// ready, those that were sent here, what thieves have asked for, and its attendant, which does all of that while the
// worker computes.
#pragma once

#include <cstdint>
#include <memory>

#include "libcore/deque/arrivals.hpp"
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
#include "libcore/task/standstill.hpp"
#include "libcore/task/task_thread.hpp"
#include "libcore/task/wait_queue.hpp"

namespace tobi::sched {

class presence final : public attended {
 public:
  presence(tasks::task_thread& thread, const tasks::fences& memory, const tasks::poller& mover, sights& seen,
           thief& of_others, sleepers& others, tasks::standstill& still) noexcept
      : thread_(thread),
        fences_(memory),
        poller_(mover),
        sights_(seen),
        thief_(of_others),
        sleepers_(others),
        still_(still) {}
  /// SHOWS_READY: thieves take suspended tasks that are ready. ALL_NEAR: each other worker is of this node and mapped.
  void start(const worker_parts& parts, deque::deque& work, bool shows_ready, bool all_near);
  void stop() noexcept { attendant_.reset(); }

  /// The worker runs a task from now on, or none.
  void set_busy(bool in_a_task) noexcept;
  /// Whether a thief has asked for work since the deque has served it.
  [[nodiscard]] bool asked_for_work() const noexcept { return deque::asked(*window_); }
  /// What it looks like to other nodes is to be told.
  void tell() noexcept { sights_.tell(); }

  /// Gives the task of IMAGE to RANK. TIED: no other worker may take it. False: there is no room.
  [[nodiscard]] bool send(int rank, std::uint64_t image, bool tied);
  /// A task that was sent here; 0: none.
  [[nodiscard]] std::uint64_t take_arrival() noexcept;
  [[nodiscard]] deque::arrivals& arrived() noexcept { return arrivals_; }

  /// The task of IMAGE, which is here, waits for RECORD, which is here too: of its child that was sent to another node
  /// (task/record.hpp). It is ready when that is done, for this worker, and for thieves where this one computes.
  void stays(std::uint64_t image, std::uint64_t record);
  [[nodiscard]] bool has_stayed() const noexcept { return stayed_.size() != 0; }
  void awaken_stayed() noexcept {
    if (stayed_.size() != 0) [[unlikely]] {
      awaken_done();
    }
  }

  /// The entries of the deque are shown to no thief, or are again.
  void keeps_entries(bool now) noexcept { keeps_entries_ = now; }
  /// Suspended tasks that can go on.
  [[nodiscard]] deque::ready_contexts& ready() noexcept { return ready_; }
  /// Shows them to thieves. What does not fit is shown as thieves make room, which a task that computes does not see.
  void show_ready() noexcept {
    if (asked_for_work()) [[unlikely]] {
      if (has_arrivals()) offer_arrivals();
      awaken_stayed();
    }
    if (ready_.has_more()) show_more();
  }

  /// Does what others want of this worker; callable between tasks, too.
  void poll() noexcept;

  // --- of the attendant ------------------------------------------------------------------------------------
  bool attend() noexcept override;
  [[nodiscard]] bool may_sleep() const noexcept override { return net_->transport().may_sleep(); }
  [[nodiscard]] bool has_arrivals() const noexcept override { return offers_ && arrivals_.any(false); }
  [[nodiscard]] std::uint64_t sign_of_life() const noexcept override { return poller_.sign_of_life(); }

 private:
  void show_more() noexcept;
  void offer_arrivals() noexcept;
  void awaken_done() noexcept;
  void start_attendant(const worker_parts& parts, bool all_can_call);

  tasks::task_thread& thread_;
  const tasks::fences& fences_;
  const tasks::poller& poller_;
  sights& sights_;
  thief& thief_;
  sleepers& sleepers_;
  tasks::standstill& still_;
  net::fabric* net_ = nullptr;
  deque::deque* deque_ = nullptr;
  deque::steal_window* window_ = nullptr;
  deque::ready_contexts ready_;
  deque::arrivals arrivals_;
  tasks::wait_queue stayed_;
  bool offers_ = false;                   // what has arrived, to thieves
  std::unique_ptr<attendant> attendant_;  // null: there are no thieves, or none can be let in
  bool debug_migrate_ = false;
  bool keeps_entries_ = false;
};

}  // namespace tobi::sched
