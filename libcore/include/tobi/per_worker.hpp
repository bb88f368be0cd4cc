// SPDX-License-Identifier: Apache-2.0
// An object of each worker, which the tasks that run there share one after the other: a counter, a buffer, a random
// generator, a histogram that is summed at the end. It is memory of its process, and takes no lock and no message.
//
// A task that forks or joins may go on at another worker, with another object. So a reference is used up to the next
// spawn or join, and got anew behind it.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstdint>
#include <memory>
#include <utility>

#include "tobi/detail/standard.hpp"

namespace tobi {

#ifndef TOBI_ELIDE
namespace detail {
/// At once, in a process.
inline constexpr std::uint32_t most_own_objects = 4096;

extern "C" {
/// Gives OBJECT of this process a number, which is the same on all workers where they give such numbers in one order.
std::uint32_t tobi_own_object_keep(void* object) noexcept;
void tobi_own_object_drop(std::uint32_t number) noexcept;
/// The objects of this process by their numbers, null where there is none. A task reads it without a call: reading an
/// object of its worker is what loops do that look at a bound.
extern void* tobi_own_objects[most_own_objects];
/// Ends the job: there is no object of that number here.
[[noreturn]] void tobi_no_own_object() noexcept;
}

inline void* own_object(std::uint32_t number) noexcept {
  void* const object = tobi_own_objects[number];
  if (object == nullptr) [[unlikely]] {
    tobi_no_own_object();
  }
  return object;
}
}  // namespace detail
#endif

#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// A per_worker as tasks name it. It is trivially copyable, and captured by value.
template <class T>
class per_worker_handle {
 public:
  /// Made by per_worker::handle().
#ifdef TOBI_ELIDE
  explicit per_worker_handle(T* mine) noexcept : mine_(mine) {}
  [[nodiscard]] T& local() const noexcept { return *mine_; }
#else
  explicit per_worker_handle(std::uint32_t number) noexcept : number_(number) {}
  /// Returns the object of the worker that runs the caller. Ends the job where that has made none.
  [[nodiscard]] T& local() const noexcept { return *static_cast<T*>(detail::own_object(number_)); }
#endif
  T& operator*() const noexcept { return local(); }
  T* operator->() const noexcept { return &local(); }

 private:
#ifdef TOBI_ELIDE
  T* mine_;
#else
  std::uint32_t number_;
#endif
};

/// An object of each worker, made by every worker in main, in the same order as others of its kind. T may be of any
/// type. It outlives the runs that use it. A process has at most 4096 of them at once (shared_min, shared_max and
/// stop_flag are made of one each).
/// @code
/// tobi::per_worker<std::vector<int>> odd;
/// tobi::run([mine = odd.handle()] {
///   tobi::parallel_for(0, 1000, 10, [=](int i) {
///     if (i % 2 != 0) mine->push_back(i);
///   });
/// });
/// const std::vector<int> all = rt.gather(*odd);  // of all workers, on rank 0
/// if (rt.rank() == 0) std::printf("%zu\n", all.size());  // prints 500
/// @endcode
template <class T>
class per_worker {
 public:
  /// The type of handle(), for parameters and members of what tasks capture.
  using handle_type = per_worker_handle<T>;

  /// Makes this worker's object from ARGUMENTS.
  template <class... Arguments>
  explicit per_worker(Arguments&&... arguments)
      : mine_(std::make_unique<T>(std::forward<Arguments>(arguments)...))
#ifndef TOBI_ELIDE
        ,
        number_(detail::tobi_own_object_keep(mine_.get()))
#endif
  {
  }
#ifndef TOBI_ELIDE
  ~per_worker() { detail::tobi_own_object_drop(number_); }
#endif
  per_worker(const per_worker&) = delete;
  per_worker& operator=(const per_worker&) = delete;

  /// Returns what tasks capture.
  [[nodiscard]] handle_type handle() const noexcept {
#ifdef TOBI_ELIDE
    return handle_type(mine_.get());
#else
    return handle_type(number_);
#endif
  }
  /// In main: this worker's object.
  [[nodiscard]] T& operator*() noexcept { return *mine_; }
  /// The same, of a per_worker that is only read.
  [[nodiscard]] const T& operator*() const noexcept { return *mine_; }
  T* operator->() noexcept { return mine_.get(); }
  const T* operator->() const noexcept { return mine_.get(); }

 private:
  std::unique_ptr<T> mine_;  // not among the locals of main, which tasks do not write to
#ifndef TOBI_ELIDE
  std::uint32_t number_;
#endif
};

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
