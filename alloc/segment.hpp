// SPDX-License-Identifier: Apache-2.0
// The registered memory of one worker: a memfd, mapped at the same virtual addresses in every worker.
//
//   [ control | heap ]  guard  [ stack ]  guard
//
// Equal addresses are what lets a stack move: pointers into it stay right. Nothing has a name in any file system, so
// nothing stays behind; pages cost memory only once they are touched. The guards have no access: a stack that overflows
// faults. The one below the stack is as large as the heap, and 4 GB at least, so that no local skips it; 1 MB where the
// address space is limited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "libcore/base/shared_memory.hpp"

namespace tobi::alloc {

/// Sizes in bytes; each is rounded up to whole pages.
struct segment_layout {
  std::size_t control_bytes = 0;
  std::size_t heap_bytes = 0;
  std::size_t stack_bytes = 0;
  std::size_t heap_at_first = 0;  // of the heap region, control block included: registered at the start; 0: all of it
};

class segment {
 public:
  segment() = default;
  /// Reserves and maps LAYOUT at an address that all workers can have. For each candidate (a place, a size of guard),
  /// EVERYONE_OK(mine) must return whether all of them could reserve it; it is called by every worker for the same
  /// candidates in the same order. Fatal when no candidate is free everywhere, or when the memory cannot be had.
  segment(const segment_layout& layout, const std::function<bool(bool mine)>& everyone_ok);
  ~segment();
  segment& operator=(segment&& other) noexcept;

  [[nodiscard]] std::byte* control() const noexcept { return base_; }
  [[nodiscard]] std::size_t control_bytes() const noexcept { return layout_.control_bytes; }
  [[nodiscard]] std::byte* heap() const noexcept { return base_ + layout_.control_bytes; }
  [[nodiscard]] std::size_t heap_bytes() const noexcept { return layout_.heap_bytes; }
  [[nodiscard]] std::byte* stack_low() const noexcept { return stack_; }
  [[nodiscard]] std::byte* stack_high() const noexcept { return stack_ + layout_.stack_bytes; }

  /// What is registered: control and heap as one region, the stack as another.
  [[nodiscard]] base::shared_memory heap_memory() const noexcept;
  [[nodiscard]] base::shared_memory stack_memory() const noexcept;
  /// Whether its descriptor still is: a program that closes all descriptors, as daemons do, closes this one too, and
  /// another file may have its number by now.
  [[nodiscard]] bool has_file() const noexcept;
  /// Whether ADDRESS lies in the guard below the stack. Callable in a signal handler.
  [[nodiscard]] bool is_stack_guard(const void* address) const noexcept;

 private:
  [[nodiscard]] bool reserve(std::uintptr_t at) noexcept;
  void map();

  segment_layout layout_{};
  std::byte* base_ = nullptr;
  std::byte* stack_ = nullptr;
  std::size_t reserved_bytes_ = 0;
  std::size_t guard_bytes_ = 0;  // below the stack
  int fd_ = -1;
  std::uint64_t file_ = 0;  // which one that is
};

}  // namespace tobi::alloc
