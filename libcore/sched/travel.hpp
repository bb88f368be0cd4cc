// SPDX-License-Identifier: Apache-2.0
// What tobi/placement.hpp asks of a worker: that a task goes on elsewhere, and what tells its thief when to stay here.
#pragma once

#include "libcore/sched/parts.hpp"
#include "libcore/sched/scheduler.hpp"
#include "libcore/sched/thief.hpp"
#include "libcore/task/fences.hpp"
#include "libcore/task/poller.hpp"
#include "libcore/task/task_thread.hpp"

namespace tobi::sched {

class travel {
 public:
  travel(const tasks::task_thread& thread, tasks::poller& mover, const tasks::fences& memory, thief& of_others) noexcept
      : thread_(thread), poller_(mover), fences_(memory), thief_(of_others) {}
  void start(const worker_parts& parts, scheduler& moves) noexcept;

  /// In a task: it goes on at RANK, or at a neighbour of RANK where that runs no tasks, if it can. TIED: there alone.
  void go_to(int rank, bool tied);
  /// In a task, which is a pattern or a part of one: it goes on at RANK, which runs tasks, if it can.
  void deal_to(int rank);
  /// A part of a loop that has its data here begins, or one ends: see thief.
  bool part_begins() noexcept { return thief_.part_begins(); }
  void part_ends(bool inside) noexcept { thief_.part_ends(inside); }
  /// This worker's rank.
  [[nodiscard]] int here() const noexcept { return net_->rank(); }
  /// Whether COUNT ranks from FIRST on, in turn, are of more nodes than one.
  [[nodiscard]] bool on_many_nodes(int first, int count) const noexcept;
  /// Whether continuations are stolen, and not taken away at every fork.
  [[nodiscard]] bool child_runs_first() const noexcept { return sched_->moves_tasks() && !debug_migrate_; }

 private:
  [[nodiscard]] int computing_near(int rank) const noexcept;

  const tasks::task_thread& thread_;
  tasks::poller& poller_;
  const tasks::fences& fences_;
  thief& thief_;
  net::fabric* net_ = nullptr;
  const base::per_rank<int>* nodes_ = nullptr;
  scheduler* sched_ = nullptr;
  bool debug_migrate_ = false;
};

}  // namespace tobi::sched
