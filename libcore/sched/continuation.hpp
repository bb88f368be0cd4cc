// SPDX-License-Identifier: Apache-2.0
// Continuation stealing, with the two joins of the CLUSTER 2022 paper: greedy (figure 4) and stalling (figure 3).
//
// The scheduler runs on the process's own stack, tasks run in the uni-address region (task/region.hpp). A task leaves
// in one of four ways: it died (its parent has been taken), it suspended (a join must wait), it was sent to another
// worker (tobi::migrate_to), or it forked under TOBI_DEBUG_MIGRATE.
//
// Invariant (checked where a task is entered): a worker that brings frames into its region owns no live frame there.
// When a child dies whose parent was taken, all older ones were taken too, or the newest that is left goes on in place;
// a task that suspends over a parent that is still here gives way to that parent, in place. And before foreign frames
// come in, or a frame in place goes on below which others were taken, the deque is quiet: nobody still copies them.
#pragma once

#include <array>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "libcore/deque/waiters.hpp"
#include "libcore/net/location.hpp"
#include "libcore/sched/scheduler.hpp"
#include "libcore/task/exceptions.hpp"
#include "libcore/task/scopes.hpp"
#include "libcore/task/wait_queue.hpp"

namespace tobi::sched {

class sched_continuation : public scheduler {
 public:
  using scheduler::scheduler;
  [[nodiscard]] bool moves_tasks() const noexcept override { return true; }
  void forked(std::uintptr_t sp, std::uint64_t* words) noexcept override;
  void wait(std::uint64_t where, tasks::record& copy) override;
  void go_to(int rank, bool tied) noexcept override;
  [[nodiscard]] std::size_t held_by_exceptions() const override;

 protected:
  void run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) override;
  bool run_something() override;
  /// Puts the image at WHERE, which waits for RECORD, into the queue of those that go on here.
  void stays_here(std::uint64_t where, std::uint64_t record);

 private:
  enum class left : std::uint8_t { died, suspended, forked, sent };

  /// What the image of a stack does not hold: the exceptions of its tasks, and where on it the older
  /// ones were saved, newest first.
  struct put_away {
    tasks::exceptions_under_way exceptions{};
    std::vector<std::uintptr_t> entries;
    std::size_t depth = 0;  // where in the deque's array the oldest of them was
    detail::scope_marker* innermost = nullptr;
  };

  /// How a task waits that may move: it has been saved as the image at WHERE and waits for RECORD. False: that is done
  /// already, and the task goes on in place.
  virtual bool park(std::uint64_t where, std::uint64_t record) = 0;

  // In: a task, or what is left of it, is brought here and entered, and the region followed until it is empty.
  bool run_ready();
  bool run_arrival();
  bool steal_once();
  void resume(std::uint64_t list);
  void go_on(const tasks::wait_queue::waiting& task);
  std::uintptr_t bring_back(net::location where, deque::waiter_links& before);
  void enter_restored(std::uintptr_t sp);
  void begin_task() noexcept;
  void after_leave();
  // Out.
  std::uintptr_t leave_region();
  std::uintptr_t suspend_task(left how);
  put_away take_stack();
  void give_stack(const put_away& stack, std::uintptr_t base);
  std::uint64_t evacuate(std::uintptr_t sp, std::uintptr_t base, std::uint64_t die_record, std::uint64_t waiting_for);
  void migrate_at_fork();
  // In a task.
  void leave_at_fork(std::uintptr_t sp, const std::uint64_t* words) noexcept;

  left left_ = left::died;         // how the task leaves that does so next
  bool had_to_wait_ = false;       // the task that was just brought back was suspended at a join
  std::uint64_t waiting_for_ = 0;  // suspended: the record
  int sent_to_ = -1;               // sent: the rank
  bool tied_ = false;              // and there alone
  std::uintptr_t forked_sp_ = 0;   // forked: what tobi_fork was called with
  const void* forked_type_ = nullptr;
  std::array<std::uint64_t, 4> forked_words_{};
  std::vector<std::byte> moved_closure_;
  tasks::wait_queue queue_;                               // of images that go on here
  std::unordered_map<std::uint64_t, put_away> put_away_;  // by the locations of the images
};

/// The waiting task's image becomes part of the record, and the task that completes the record takes it. With an
/// exception under way it stays here, as under the stalling join.
class sched_greedy : public sched_continuation {
 public:
  using sched_continuation::sched_continuation;
  [[nodiscard]] std::string_view name() const noexcept override { return "continuation_greedy"; }
  [[nodiscard]] bool moves_at_joins() const noexcept override { return true; }
  void conclude(net::location where, tasks::record& made) noexcept override;

 private:
  bool park(std::uint64_t where, std::uint64_t record) override;
  void wake(net::location record, std::uint64_t waiters);
  void trace_ready(std::uint64_t waiters);
};

/// The same; and patterns whose parts are known when they begin deal them to ranges of workers (divisions.hpp).
class sched_adws final : public sched_greedy {
 public:
  using sched_greedy::sched_greedy;
  [[nodiscard]] std::string_view name() const noexcept override { return "adws"; }
};

/// The waiting task's image goes into a queue of this worker, which looks at its records in turn. Nobody but the
/// completing task changes a record's word, so that takes no atomic.
class sched_stalling final : public sched_continuation {
 public:
  using sched_continuation::sched_continuation;
  [[nodiscard]] std::string_view name() const noexcept override { return "continuation_stalling"; }
  void conclude(net::location where, tasks::record& made) noexcept override;

 private:
  bool park(std::uint64_t where, std::uint64_t record) override {
    stays_here(where, record);
    return true;
  }
};

}  // namespace tobi::sched
