// SPDX-License-Identifier: Apache-2.0
// A worker: one process of the job. It puts together what its tasks need (task/) and what makes it one of many (the
// rest of this folder), and gives it to its scheduler, which enters tasks and looks for the next. The C entry points of
// the fork path and of the public headers call it (entry.cc), and so does the job.
//
// The one instance is a static object: a task that moves finds its new worker at the same address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "libcore/deque/deque.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/sched/divisions.hpp"
#include "libcore/sched/idler.hpp"
#include "libcore/sched/numbering.hpp"
#include "libcore/sched/outstanding.hpp"
#include "libcore/sched/parts.hpp"
#include "libcore/sched/presence.hpp"
#include "libcore/sched/scheduler.hpp"
#include "libcore/sched/services.hpp"
#include "libcore/sched/sights.hpp"
#include "libcore/sched/sleepers.hpp"
#include "libcore/sched/thief.hpp"
#include "libcore/sched/travel.hpp"
#include "libcore/task/closure_watch.hpp"
#include "libcore/task/failures.hpp"
#include "libcore/task/fences.hpp"
#include "libcore/task/finish_counts.hpp"
#include "libcore/task/futures.hpp"
#include "libcore/task/joins.hpp"
#include "libcore/task/poller.hpp"
#include "libcore/task/publisher.hpp"
#include "libcore/task/records.hpp"
#include "libcore/task/region.hpp"
#include "libcore/task/scopes.hpp"
#include "libcore/task/shared_objects.hpp"
#include "libcore/task/standstill.hpp"
#include "libcore/task/task_results.hpp"
#include "libcore/task/task_thread.hpp"
#include "tobi/statistics.hpp"

namespace tobi::sched {

class worker {
 public:
  worker() noexcept;
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  void start(const worker_parts& parts);
  void stop() noexcept;

  /// Runs tasks until the word DONE, which others put to, holds DONE_VALUE. FIRST, if not null, is the root, entered
  /// with a copy of the ARGUMENT_BYTES at ARGUMENT, which it may use.
  void schedule(void (*first)(void*), const void* argument, std::size_t argument_bytes, std::uint64_t& done,
                std::uint64_t done_value);
  /// To sleep, and to call neighbours that do: they have been told of the end of a run, or of a barrier.
  [[nodiscard]] sleepers& asleep() noexcept { return sleepers_; }

  // --- called from tasks -----------------------------------------------------------------------------------
  /// WORDS: the closure's four, then the task_type.
  void on_fork(std::uintptr_t sp, std::uint64_t* words) noexcept;
  void on_return(std::uintptr_t sp, std::uint64_t a, std::uint64_t b) noexcept;
  void poll() noexcept;
  /// The task that calls this is over, and nobody joins it through a fork: the root's end.
  [[noreturn]] void leave_dead() noexcept { tobi_leave(); }
  [[nodiscard]] tasks::task_results& results() noexcept { return results_; }
  [[nodiscard]] tasks::joins& joins() noexcept { return joins_; }
  [[nodiscard]] tasks::futures& futures() noexcept { return futures_; }
  [[nodiscard]] tasks::finish_counts& finishes() noexcept { return finishes_; }
  [[nodiscard]] sched::travel& travel() noexcept { return travel_; }
  [[nodiscard]] sched::divisions& divisions() noexcept { return divisions_; }
  [[nodiscard]] tasks::failures& failures() noexcept { return failures_; }

  // --- for the job -----------------------------------------------------------------------------------------
  [[nodiscard]] net::fabric& net() noexcept { return *parts_.net; }
  [[nodiscard]] deque::deque& work() noexcept { return *deque_; }
  [[nodiscard]] scheduler& sched() noexcept { return *sched_; }
  [[nodiscard]] bool inside_task() const noexcept { return thread_.inside_task(); }
  /// Of any worker's heap.
  void free_object(net::location where) noexcept { objects_.free(where); }
  void count_run(std::uint64_t ns) noexcept { counts_.run_ns += ns; }
  [[nodiscard]] statistics counted() const noexcept;
  void reset_counts() noexcept;

  // --- for the fault handler -------------------------------------------------------------------------------
  /// What the scheduler knows of a fault at ADDRESS, or "".
  [[nodiscard]] std::string_view explain_fault(const void* address) const noexcept {
    return sched_ == nullptr ? "" : sched_->explain_fault(address);
  }
  /// Whether ADDRESS in the region belongs to tasks that moved away.
  [[nodiscard]] bool trapped(std::uintptr_t address) const noexcept { return region_.trapped(address); }
  /// TOBI_DEBUG_MIGRATE: looks for pointers in closures from now on, also for those into main's stack, [FROM, TO).
  void watch_closures(std::uintptr_t from, std::uintptr_t to) noexcept { parts_.closures->begin_run(from, to); }
  /// The pointer nearest to ADDRESS, at or before it by less than NEAR bytes, in closures that were forked on this
  /// node. Its type is null where there is none.
  [[nodiscard]] tasks::held_pointer closure_that_holds(std::uintptr_t address, std::uintptr_t near) noexcept;

 private:
  void make_deque(std::size_t nodes);

  worker_parts parts_{};
  std::unique_ptr<deque::deque> deque_;
  scheduler* sched_ = nullptr;
  statistics counts_;
  deque::deque::counters shown_before_;                 // at the last reset
  const volatile std::uint64_t* usual_bell_ = nullptr;  // what forks of tasks look at

  // Each knows those above it.
  tasks::fences fences_;
  tasks::task_thread thread_;
  tasks::poller poller_;
  tasks::scopes scopes_;
  tasks::shared_objects objects_;
  tasks::failures failures_{objects_};
  tasks::records records_{objects_, failures_};
  tasks::region region_{objects_, scopes_, counts_};
  tasks::publisher publisher_{records_, scopes_, fences_, thread_};
  tasks::joins joins_{records_, failures_, objects_, fences_, thread_, poller_};
  tasks::task_results results_{failures_, joins_, fences_};
  tasks::futures futures_{records_, failures_, joins_, thread_};
  tasks::finish_counts finishes_{objects_, failures_, scopes_, fences_, joins_, thread_};
  tasks::standstill still_;
  outstanding outstanding_{still_, counts_};
  sights sights_;
  sleepers sleepers_;
  thief thief_{objects_, fences_, region_, sights_, still_, counts_, sleepers_};
  presence presence_{thread_, fences_, poller_, sights_, thief_, sleepers_, still_};
  idler idler_{objects_, fences_, thief_, still_, presence_.ready(), presence_.arrived(), sleepers_};
  sched::travel travel_{thread_, poller_, fences_, thief_};
  numbering workers_;
  sched::divisions divisions_{travel_, thief_, presence_};
  services services_{.net = nullptr,
                     .work = nullptr,
                     .parts = parts_,
                     .counts = counts_,
                     .thread = thread_,
                     .objects = objects_,
                     .records = records_,
                     .scopes = scopes_,
                     .region = region_,
                     .fences = fences_,
                     .finishes = finishes_,
                     .results = results_,
                     .still = still_,
                     .outstanding = outstanding_,
                     .poller = poller_,
                     .thief = thief_,
                     .presence = presence_,
                     .idler = idler_,
                     .divisions = divisions_};
};

/// The worker of this process.
worker& this_worker() noexcept;

}  // namespace tobi::sched
