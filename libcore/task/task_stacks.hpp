// SPDX-License-Identifier: Apache-2.0
// Stacks for tasks that each have one: made as they are needed, reused last in, first out, each with a guard below it.
// Private memory: what is on a stack of a tied task is nobody else's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tobi::tasks {

class task_stacks {
 public:
  /// BYTES of each stack (rounded up to pages), SETTING is what to name when too many are needed. FULL is the sentence
  /// for one that is too small, made now: a fault handler must not allocate.
  task_stacks(std::size_t bytes, const char* setting, std::string full);
  ~task_stacks();
  task_stacks(const task_stacks&) = delete;
  task_stacks& operator=(const task_stacks&) = delete;

  /// The top of a stack. Fatal when the machine gives no more.
  [[nodiscard]] std::byte* take();
  /// Gives back what take() returned.
  void give(std::byte* top) { free_.push_back(top); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const char* setting() const noexcept { return setting_; }

  /// Whether ADDRESS lies in a guard. Callable in a signal handler.
  [[nodiscard]] bool is_guard(const void* address) const noexcept;
  /// The sentence for a fault at ADDRESS: FULL, or "". Callable in a signal handler.
  [[nodiscard]] std::string_view explain_fault(const void* address) const noexcept {
    return is_guard(address) ? std::string_view(full_) : std::string_view();
  }
  /// Bytes that tasks have touched so far.
  [[nodiscard]] std::size_t touched_bytes() const noexcept;

 private:
  std::size_t bytes_;
  const char* setting_;
  std::string full_;
  std::vector<std::byte*> chunks_;
  std::vector<std::byte*> free_;  // tops
  std::size_t made_ = 0;          // of the last chunk's stacks, those that were taken once
};

}  // namespace tobi::tasks
