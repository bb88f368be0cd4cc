// SPDX-License-Identifier: Apache-2.0
// A thread of each worker that lets thieves in while the worker computes.
//
// A worker serves thieves at its forks. One that has forked down to a long leaf makes none, and what it has forked
// would stay out of reach until the leaf has ended. Its attendant then comes in by the door (task/door.hpp) and does
// what the worker would do at a fork: it shows continuations and ready tasks, writes back what a thief waits for, and
// moves a transport that stands still unless it is polled. It interrupts nothing: no signal, so no system call of the
// program ends early.
//
// It sleeps until a thief of the same host calls it, by a futex in the window, when a ring of the bell has had no
// effect. Thieves of other hosts have no system call there, and a transport that must be polled brings no ring: in jobs
// that have such the attendant wakes by itself. How soon is a share of the time for which the worker has been silent,
// so that a thief waits for a twentieth of the leaf that keeps it waiting, and a long leaf pays for few looks. A worker
// with more awakened tasks than it has words to show them in has its attendant come until all are shown. Where the
// transport has a descriptor to sleep on it sleeps there, and what comes from other hosts wakes it at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "libcore/deque/window.hpp"

namespace tobi::sched {

/// The worker, as its attendant knows it. All of this is called by the attendant's thread.
class attended {
 public:
  virtual ~attended() = default;
  /// Inside, while the worker's own thread runs a task: does what that would do at a fork. Returns whether there is
  /// more than it could show.
  virtual bool attend() noexcept = 0;
  /// Inside: the worker's transport has nothing to move.
  [[nodiscard]] virtual bool may_sleep() const noexcept = 0;
  /// Whether something was sent here that thieves do not see yet.
  [[nodiscard]] virtual bool has_arrivals() const noexcept { return false; }
  /// Changes whenever the worker has moved its transport by itself: the cycles (arch/cpu.hpp) of the last time, or a
  /// count of something, which is far from them.
  [[nodiscard]] virtual std::uint64_t sign_of_life() const noexcept = 0;
};

class attendant {
 public:
  struct habits {
    bool polls_transport;  // the transport stands still unless it is polled
    int wait_fd;           // and can be slept on; -1: it cannot
    bool looks;            // not all thieves can call
    unsigned crowd;        // workers per core: all of their attendants may look
  };
  /// Of WORKER, whose window is WINDOW. Both outlive it. It may visit from now on.
  attendant(attended& worker, deque::steal_window& window, const habits& chosen);
  ~attendant();
  attendant(const attendant&) = delete;
  attendant& operator=(const attendant&) = delete;
  /// The window says so. Of the worker's thread; costs a load, unless the attendant has slept for lack of tasks.
  void task_begins() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // doze() has the fence of the processor
    if (dozes_.load(std::memory_order_relaxed)) [[unlikely]] {
      call();
    }
  }
  /// There is more to show than fits: it comes again soon, until there is not. Of the worker's thread, inside, so that
  /// no visit is under way. A call may be lost to the end of a turn; the flag is not, and is seen before the next
  /// sleep.
  void stay() noexcept {
    if (!stays_.exchange(true, std::memory_order_relaxed)) call();
  }
  /// The worker runs no task, and takes what it has itself. Of the worker's thread, inside.
  void task_ends() noexcept { stays_.store(false, std::memory_order_relaxed); }

 private:
  void live() noexcept;
  void sleep(std::uint64_t ns) noexcept;
  void doze() noexcept;
  void call() noexcept;
  [[nodiscard]] bool wanted() const noexcept;
  [[nodiscard]] bool visit() noexcept;

  attended& worker_;
  deque::steal_window& window_;
  habits habits_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> dozes_{false};  // until a task begins
  std::atomic<bool> stays_{false};
  std::thread thread_;
};

}  // namespace tobi::sched
