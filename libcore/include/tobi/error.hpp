// SPDX-License-Identifier: Apache-2.0
// How a task's failure reaches the task that joins it.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <stdexcept>
#include <string>

#include "tobi/detail/standard.hpp"

namespace tobi {

/// Thrown by join() when the child ended with an exception. The type is always this one, whether or not the child or
/// the parent moved: what a program can catch must not depend on steals. The text names the rank and the type.
class task_error : public std::runtime_error {
 public:
  /// Made by the runtime, from what the task has thrown.
  task_error(std::string type_name, std::string message, int rank)
      : std::runtime_error("task on rank " + std::to_string(rank) + " failed: " + type_name +
                           (message.empty() ? "" : ": " + message)),
        type_name_(std::move(type_name)),
        message_(std::move(message)),
        rank_(rank) {}

  /// The exception's type as the C++ runtime names it, demangled: "std::out_of_range".
  [[nodiscard]] const std::string& type_name() const noexcept { return type_name_; }
  /// Its what(), cut to 200 bytes; empty when it is no std::exception.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  /// The rank of the worker that ran the throw.
  [[nodiscard]] int rank() const noexcept { return rank_; }

 private:
  std::string type_name_;
  std::string message_;
  int rank_;
};

}  // namespace tobi
