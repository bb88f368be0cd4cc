// SPDX-License-Identifier: Apache-2.0
// Which thread may touch the state of a worker's runtime: its own thread, in every call of the runtime, or its
// attendant (sched/attendant.hpp), while that thread runs the program's code. The thread that is inside is alone, so
// nothing behind the door needs an atomic or a lock for the other's sake: deque, records, cache, transport.
//
// A lock whose owner pays two stores and a load. Dekker: the owner stores `inside_` and loads `visited_`; the visitor
// stores `visited_`, makes the owner's core pass a barrier (arch/heavy_fence.hpp), and loads `inside_`. At least one
// sees the other. The visitor that sees the owner goes away at once; the owner that sees the visitor waits. A worker
// has an attendant, and each of its task collections has one: visitors come one at a time, by a lock among themselves.
//
// Between tasks the worker is inside. It steps out where it enters a task, where a call of the program returns to it,
// in a task or outside of tobi::run, and where it calls a function of the program. A call of a task may return in
// another process than it began in: each process has a door of its own, at the same address.
#pragma once

#include <atomic>
#include <mutex>

#include "arch/heavy_fence.hpp"

namespace tobi::tasks {

class door {
 public:
  // --- the worker's thread -----------------------------------------------------------------------------
  /// Returns whether it was inside before, for step_out(): the runtime's calls may be made between tasks, too.
  bool step_in() noexcept {
    const bool was = inside_.load(std::memory_order_relaxed);
    inside_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // Acquire: what a visitor did is seen by the thread that comes in after it.
    if (visited_.load(std::memory_order_acquire)) [[unlikely]] {
      wait_for_visitor();
    }
    return was;
  }
  /// Release: what was done inside is seen by the next visitor.
  void step_out(bool was_inside = false) noexcept { inside_.store(was_inside, std::memory_order_release); }
  /// Whether the runtime is at work, and not the program.
  [[nodiscard]] bool is_inside() const noexcept { return inside_.load(std::memory_order_relaxed); }

  // --- a visitor: another thread of this process --------------------------------------------------------
  /// Waits for other visitors. A visit waits for nobody, so there is no circle.
  [[nodiscard]] bool try_visit() noexcept {
    visitors_.lock();
    visited_.store(true, std::memory_order_relaxed);
    arch::heavy_fence();
    if (!inside_.load(std::memory_order_acquire)) return true;
    end_visit();
    return false;
  }
  void end_visit() noexcept {
    visited_.store(false, std::memory_order_release);
    visitors_.unlock();
  }

 private:
  void wait_for_visitor() noexcept;

  std::atomic<bool> inside_{true};
  std::atomic<bool> visited_{false};
  std::mutex visitors_;
};

/// Of this process.
inline constinit door the_door;

/// Inside for as long as it lives.
class indoors {
 public:
  indoors() noexcept : was_(the_door.step_in()) {}
  ~indoors() { the_door.step_out(was_); }
  indoors(const indoors&) = delete;
  indoors& operator=(const indoors&) = delete;

 private:
  bool was_;
};

}  // namespace tobi::tasks
