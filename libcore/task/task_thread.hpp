// SPDX-License-Identifier: Apache-2.0
// The thread of this process that runs tasks: which one it is, whether it is in a task, and where their frames lie.
#pragma once

#include <cstdint>

#include "libcore/task/exceptions.hpp"

namespace tobi::tasks {

class task_thread {
 public:
  /// The frames of tasks lie in [LOW, LOW + BYTES).
  void frames_lie(std::uintptr_t low, std::uintptr_t bytes) noexcept {
    low_ = low;
    bytes_ = bytes;
  }
  /// From now on it is the caller.
  void run_begins() noexcept { exceptions_ = __cxxabiv1::__cxa_get_globals(); }
  void set_inside(bool in_a_task) noexcept { inside_ = in_a_task; }

  [[nodiscard]] bool inside_task() const noexcept { return inside_; }
  /// Whether SP can be that of a task: a fork from elsewhere may be another thread's.
  [[nodiscard]] bool holds(std::uintptr_t sp) const noexcept { return sp - low_ <= bytes_; }
  /// Whether an exception of the tasks is under way or in a catch clause. It belongs to this process. Callable by the
  /// attendant.
  [[nodiscard]] bool has_exceptions() const noexcept { return any_under_way(exceptions_); }
  /// Tasks are run by one thread of this process, within tobi::run: ends the job where the caller is not in one. WHAT
  /// was called.
  void must_run_tasks_here(const char* what) const noexcept;

 private:
  bool inside_ = false;
  const void* exceptions_ = nullptr;  // of the thread
  std::uintptr_t low_ = 0;
  std::uintptr_t bytes_ = ~std::uintptr_t{0};
};

}  // namespace tobi::tasks
