// Stacks for tasks that each have one: made as they are needed, reused last in, first out, each with a guard below it.
// Private memory: what is on a stack of a tied task is nobody else's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tobi::tasks {

class task_stacks {
 public:
  /// BYTES of each stack (rounded up to pages), SETTING is what to name when one is too small or too many are needed.
  task_stacks(std::size_t bytes, const char* setting) noexcept;
  ~task_stacks();
  task_stacks(const task_stacks&) = delete;
  task_stacks& operator=(const task_stacks&) = delete;

  /// The top of a stack. Fatal when the machine gives no more.
  [[nodiscard]] std::byte* take();
  /// Gives back what take() answered.
  void give(std::byte* top) { free_.push_back(top); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const char* setting() const noexcept { return setting_; }

  /// Whether ADDRESS lies in a guard. Callable in a signal handler.
  [[nodiscard]] bool is_guard(const void* address) const noexcept;
  /// Bytes that tasks have touched so far.
  [[nodiscard]] std::size_t touched_bytes() const noexcept;

 private:
  std::size_t bytes_;
  const char* setting_;
  std::vector<std::byte*> chunks_;
  std::vector<std::byte*> free_;  // tops
  std::size_t made_ = 0;          // of the last chunk's stacks, those that were taken once
};

}  // namespace tobi::tasks
