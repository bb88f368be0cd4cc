// SPDX-License-Identifier: Apache-2.0
// Containers of the standard library that are locals of a task and move with it: with_task_memory, task_memory,
// task_allocator, local_vector.
//
// A task may go on in another process after each spawn and each join, and takes its locals along, with their addresses.
// What a std::vector owns it does not take: that lies in the heap of one process. So a task asks for room on its own
// stack, and gives its containers an allocator that takes from there:
//
//   tobi::with_task_memory(64 * 1024, [&](tobi::task_memory& memory) {
//     tobi::local_vector<int> found(memory);
//     ...                                      // spawns and joins, anywhere in between
//   });
//
// The room is part of the task's frames. It costs nothing where the task stays, and where it moves it is copied with
// them, whole, used or not. So it is for what a task has for itself, of some kilobytes to a megabyte. What is larger,
// or what several tasks use, is global memory (tobi/global_memory.hpp).
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tobi/detail/standard.hpp"

namespace tobi {

/// What task_memory throws when it is full. It leaves the task as any exception does.
class task_memory_full : public std::bad_alloc {
 public:
  task_memory_full(std::size_t bytes, std::size_t free, std::size_t capacity) {
    const std::string text = "tobi: a task_memory of " + std::to_string(capacity) + " bytes has " +
                             std::to_string(free) + " left, not in one piece perhaps, and was asked for " +
                             std::to_string(bytes) +
                             "; give tobi::with_task_memory more, or reserve() what a vector will hold";
    text.copy(what_, sizeof what_ - 1);
  }
  [[nodiscard]] const char* what() const noexcept override { return what_; }

 private:
  char what_[240] = {};
};

/// Room for the containers of one task: bytes that lie on its stack, given out first fit, in multiples of 16. What is
/// given back is used again. A vector that grows to N bytes without reserve() needs twice as much room.
///
/// Its addresses stay as they are when the task moves. It belongs to one task: a child may not use the parent's, which
/// may have moved away. Not copyable. It gives nothing to destructors: what is allocated is given back by its
/// container, or ends with the room.
class task_memory {
 public:
  /// Of what is given out.
  static constexpr std::size_t alignment = 16;

  /// The BYTES at ROOM, which lie on the stack of the task that uses it. with_task_memory() makes it so.
  task_memory(void* room, std::size_t bytes) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(room);
    const std::uintptr_t first = (at + alignment - 1) / alignment * alignment;
    const std::size_t lost = static_cast<std::size_t>(first - at);
    fresh_ = static_cast<std::byte*>(room) + (bytes < lost ? 0 : lost);
    free_ = capacity_ = bytes < lost ? 0 : (bytes - lost) / alignment * alignment;
    end_ = fresh_ + capacity_;
  }
  task_memory(const task_memory&) = delete;
  task_memory& operator=(const task_memory&) = delete;

  /// Returns BYTES, not initialized. Throws task_memory_full.
  [[nodiscard]] void* allocate(std::size_t bytes) {
    const std::size_t asked = bytes;
    if (bytes > capacity_) throw task_memory_full(asked, free_, capacity_);
    bytes = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
    for (hole** link = &holes_; *link != nullptr; link = &(*link)->next) {
      if ((*link)->bytes < bytes) continue;
      hole* const found = *link;
      if (found->bytes == bytes) {
        *link = found->next;
      } else {
        *link = new (reinterpret_cast<std::byte*>(found) + bytes) hole{found->next, found->bytes - bytes};
      }
      free_ -= bytes;
      return found;
    }
    if (static_cast<std::size_t>(end_ - fresh_) < bytes) throw task_memory_full(asked, free_, capacity_);
    free_ -= bytes;
    return std::exchange(fresh_, fresh_ + bytes);
  }
  /// Takes back what allocate(BYTES) returned.
  void deallocate(void* at, std::size_t bytes) noexcept {
    bytes = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
    free_ += bytes;
    hole* before = nullptr;
    hole** link = &holes_;
    while (*link != nullptr && static_cast<void*>(*link) < at) {
      before = *link;
      link = &before->next;
    }
    hole* const after = *link;
    hole* now = new (at) hole{after, bytes};
    if (after != nullptr && now->end() == reinterpret_cast<std::byte*>(after)) {
      now->bytes += after->bytes;
      now->next = after->next;
    }
    if (before != nullptr && before->end() == reinterpret_cast<std::byte*>(now)) {
      before->bytes += now->bytes;
      before->next = now->next;
      now = before;
    } else {
      *link = now;
    }
    if (now->end() == fresh_) {  // the last one: fresh again
      fresh_ = reinterpret_cast<std::byte*>(now);
      for (link = &holes_; *link != now;) link = &(*link)->next;
      *link = nullptr;
    }
  }

  /// How many bytes it has in all, and how many are free, in pieces perhaps.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t free() const noexcept { return free_; }

 private:
  // What was given back, in order of addresses; no two of them touch each other, or the fresh rest.
  struct hole {
    hole* next;
    std::size_t bytes;
    [[nodiscard]] std::byte* end() noexcept { return reinterpret_cast<std::byte*>(this) + bytes; }
  };
  static_assert(sizeof(hole) <= alignment);

  hole* holes_ = nullptr;
  std::byte* fresh_;  // what was never given out, up to END_
  std::byte* end_;
  std::size_t capacity_;
  std::size_t free_;
};

/// An allocator for the containers of the standard library whose memory is a task_memory. It has no default: a
/// container is made with the memory, as in std::vector<int, tobi::task_allocator<int>> v(memory). Containers that are
/// copied or moved from one keep to the same memory, and must not live longer.
template <class T>
class task_allocator {
  static_assert(alignof(T) <= task_memory::alignment, "tobi: a task_memory aligns to 16 bytes, and not to more");

 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  /// Takes from MEMORY.
  task_allocator(task_memory& memory) noexcept : memory_(&memory) {}
  template <class U>
  task_allocator(const task_allocator<U>& other) noexcept : memory_(other.memory()) {}

  /// Room for N objects. Throws task_memory_full.
  [[nodiscard]] T* allocate(std::size_t n) {
    constexpr std::size_t most = ~std::size_t{0};
    return static_cast<T*>(memory_->allocate(n > most / sizeof(T) ? most : n * sizeof(T)));
  }
  void deallocate(T* at, std::size_t n) noexcept { memory_->deallocate(at, n * sizeof(T)); }

  /// Where it takes from.
  [[nodiscard]] task_memory* memory() const noexcept { return memory_; }
  friend bool operator==(const task_allocator& a, const task_allocator& b) noexcept { return a.memory_ == b.memory_; }

 private:
  task_memory* memory_;
};

/// A vector that is a local of a task, and moves with it.
template <class T>
using local_vector = std::vector<T, task_allocator<T>>;

namespace detail {
// A page at a time, downwards, so that a stack that is too short ends at its guard, with the sentence for that. A call
// would push its return address below the room, perhaps far beyond the guard.
[[gnu::always_inline]] inline void touch_down(volatile std::byte* room, std::size_t bytes) noexcept {
  constexpr std::size_t page = 4096;
  for (std::size_t left = bytes; left > 0; left -= left < page ? left : page) room[left - 1] = std::byte{};
}
}  // namespace detail

/// Calls f(memory) with a task_memory of BYTES, in multiples of 16, on the stack of the calling task, and returns what
/// it returns. May migrate the caller, as F does. The room ends with the call, and costs a store per 4 KiB of it. Where
/// the stack is too small for it, the job ends with a message that names TOBI_STACK_SIZE. Code outside of tasks may
/// call it, too.
/// @code
/// const long sum = tobi::run([] {
///   return tobi::with_task_memory(16 * 1024, [](tobi::task_memory& memory) {
///     tobi::local_vector<long> squares(memory);
///     for (int i = 0; i < 100; ++i) {
///       auto square = tobi::spawn([i] { return long{i} * i; });
///       squares.push_back(square.join());  // perhaps in another process than before
///     }
///     long all = 0;
///     for (const long x : squares) all += x;
///     return all;
///   });
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 328350
/// @endcode
template <class F>
[[gnu::noinline]] auto with_task_memory(std::size_t bytes, F&& f) {
  constexpr std::size_t step = task_memory::alignment;
  bytes = (bytes + step - 1) / step * step;
  void* const room = __builtin_alloca_with_align(bytes, step * 8);
  detail::touch_down(static_cast<volatile std::byte*>(room), bytes);
  task_memory memory(room, bytes);
  return std::forward<F>(f)(memory);
}

}  // namespace tobi
