// SPDX-License-Identifier: Apache-2.0
// Exceptions that leave their task: what is kept of one until the join, and what the join throws.
#pragma once

#include <cstdint>

#include "libcore/net/fabric.hpp"
#include "libcore/net/location.hpp"
#include "libcore/task/record.hpp"
#include "libcore/task/shared_objects.hpp"

namespace tobi::tasks {

/// Throws WHAT as task_error.
[[noreturn]] void throw_task_error(const failure& what);

class failures {
 public:
  explicit failures(shared_objects& objects) noexcept : objects_(objects) {}
  void start(net::fabric& net) noexcept { net_ = &net; }
  void stop() noexcept { net_ = nullptr; }

  /// In a catch clause: keeps the exception as an object of this worker's heap, and returns its location. Ends the job
  /// where there is no room.
  [[nodiscard]] std::uint64_t keep() noexcept;
  /// What was kept at WHERE.
  [[nodiscard]] failure read(net::location where);
  /// The same, and frees it.
  [[nodiscard]] failure take(net::location where);
  /// In a catch clause: throws the exception as task_error. Callable where there is no runtime.
  [[noreturn]] void rethrow() const;

 private:
  shared_objects& objects_;
  net::fabric* net_ = nullptr;
};

}  // namespace tobi::tasks
