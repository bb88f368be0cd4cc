// SPDX-License-Identifier: Apache-2.0
// Fork and join. spawn() runs the child at once, on the same stack. What follows the call, the continuation, can be
// taken by another worker. It then goes on in another process, at the same stack addresses ("uni-address threads",
// Akiyama and Taura, HPDC 2015; greedy join as in Shiina and Taura, CLUSTER 2022).
//
// A task may rely on its own locals, by value or by address, on code and constants, and on what its closure captured by
// value. It may not use another task's locals, mutable globals, thread_local variables and process-private memory
// across a spawn or join. TOBI_DEBUG_MIGRATE=1 finds the first of these at once.
//
// An exception is memory of its process. A task that spawns or joins in a catch clause, or in a destructor while an
// exception is under way, stays in its process meanwhile. What it forks there is not stolen.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "tobi/detail/fork.hpp"
#include "tobi/detail/spawned.hpp"
#include "tobi/error.hpp"

#ifdef TOBI_ELIDE
#include "tobi/elided.hpp"
#else

namespace tobi {

/// A running or finished child that returns R (a migratable type, or void). It lives where it was made, among the
/// locals of the parent. It is neither copied nor moved. Constructing one is the fork.
template <class R>
class [[nodiscard]] task {
  static_assert(detail::moves<R>, TOBI_RESULT_SENTENCE);

 public:
  /// Forks FUNCTION. May migrate the caller.
  template <class F>
  explicit task(const F& function) {
    detail::check_closure<F>();
    own_.h.record = 0;
    const detail::registers2 r = detail::fork_task<R>(function, &own_.h);
    // Not by assignment, which a type with const members does not have.
    if constexpr (detail::in_registers<R>) std::construct_at(std::addressof(own_.value), detail::from_registers<R>(r));
  }
  /// The same for a closure that owns something, and is the child's from here on.
  template <class F>
  explicit task(detail::room_for<F, false>& closure) {
    own_.h.record = 0;
    const detail::registers2 r = detail::fork_task<R>(closure.value, &own_.h);
    if constexpr (detail::in_registers<R>) std::construct_at(std::addressof(own_.value), detail::from_registers<R>(r));
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  /// Says what to use instead.
  template <std::same_as<task> Same>
  task(Same&&) {
    static_assert(!std::same_as<Same, task>, TOBI_HANDLE_SENTENCE);
  }
  /// Joins, and drops the result and any exception, if join() was not called.
  ~task() {
    if (own_.h.record != 0) [[unlikely]] {
      detail::tobi_abandon(&own_.h);
    }
  }

  /// Waits for the child, which may migrate the caller, and returns its result. A child's exception is thrown as
  /// task_error. A second call returns the same result, or, where that owns something, what a move has left of it.
  R join() {
    if (own_.h.record != 0) [[unlikely]] {
      detail::tobi_join(&own_.h, std::addressof(own_.value), sizeof(R));
    }
    if constexpr (std::is_copy_constructible_v<R>) {
      return own_.value;
    } else {
      return std::move(own_.value);
    }
  }

  /// Whether join() returns at once: the child has returned into its parent, as it does where nothing was stolen. Where
  /// what followed the spawn was stolen this is false until the join, and so it is when the child threw.
  [[nodiscard]] bool done() const noexcept { return own_.h.record == 0; }

 private:
  detail::handle_and_result<R> own_;
};

/// A child whose result owns something: a migratable type that is moved, and must be ended.
template <class R>
requires(!std::is_void_v<R> && !detail::travels<R> && detail::moves<R>) class [[nodiscard]] task<R> {
 public:
  /// Forks FUNCTION. May migrate the caller.
  template <class F>
  explicit task(const F& function) {
    detail::check_closure<F>();
    keep(detail::fork_task<R>(function, begin()));
  }
  /// The same for a closure that owns something, and is the child's from here on.
  template <class F>
  explicit task(detail::room_for<F, false>& closure) {
    keep(detail::fork_task<R>(closure.value, begin()));
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  /// Says what to use instead.
  template <std::same_as<task> Same>
  task(Same&&) {
    static_assert(!std::same_as<Same, task>, TOBI_HANDLE_SENTENCE);
  }
  /// Joins, and ends the result.
  ~task() {
    if (own_.h.record != 0) [[unlikely]] {
      here_ = detail::tobi_take(&own_.h, std::addressof(own_.value), sizeof(R)) != 0;
    }
    if (here_) std::destroy_at(std::addressof(own_.value));
  }

  /// As above. Throws std::logic_error where an earlier call has thrown what the child threw.
  R join() {
    if (own_.h.record != 0) [[unlikely]] {
      detail::tobi_join(&own_.h, std::addressof(own_.value), sizeof(R));
      here_ = true;
    }
    if (!here_) throw std::logic_error("tobi: a task is joined again after its join has thrown; it has no result");
    return std::move(own_.value);
  }
  /// As above.
  [[nodiscard]] bool done() const noexcept { return own_.h.record == 0; }

 private:
  detail::handle* begin() noexcept {
    own_.h.record = 0;
    return &own_.h;
  }
  // A larger result has been put into its place.
  void keep(const detail::registers2& r) noexcept {
    if (own_.h.record != 0) return;
    if constexpr (detail::in_registers<R>) {
      std::memcpy(static_cast<void*>(std::addressof(own_.value)), &r, sizeof(R));
    }
    here_ = true;
  }

  detail::handle_and_result<R> own_;
  bool here_ = false;
};

/// A child without a result.
template <>
class [[nodiscard]] task<void> {
 public:
  /// Forks FUNCTION. May migrate the caller.
  template <class F>
  explicit task(const F& function) {
    detail::check_closure<F>();
    handle_.record = 0;
    detail::fork_task<void>(function, &handle_);
  }
  /// The same for a closure that owns something, and is the child's from here on.
  template <class F>
  explicit task(detail::room_for<F, false>& closure) {
    handle_.record = 0;
    detail::fork_task<void>(closure.value, &handle_);
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  /// Says what to use instead.
  template <std::same_as<task> Same>
  task(Same&&) {
    static_assert(!std::same_as<Same, task>, TOBI_HANDLE_SENTENCE);
  }
  ~task() {
    if (handle_.record != 0) [[unlikely]] {
      detail::tobi_abandon(&handle_);
    }
  }

  /// Waits for the child, which may migrate the caller. Its exception is thrown as task_error.
  void join() {
    if (handle_.record != 0) [[unlikely]] {
      detail::tobi_join(&handle_, nullptr, 0);
    }
  }

  /// Whether join() returns at once: see above.
  [[nodiscard]] bool done() const noexcept { return handle_.record == 0; }

 private:
  detail::handle handle_;
};

/// Forks FUNCTION(ARGUMENTS...): `auto x = tobi::spawn([=] { return f(n); })` or `auto x = tobi::spawn(f, n)`. The
/// closure and the arguments are taken by value, as std::async takes them: the function gets its copies of the
/// arguments as rvalues. They and the result are migratable, or the compiler says so in one sentence: their copy
/// constructors and destructors are trivial, or they own what every process can reach (migratable.hpp). A closure that
/// captures by reference compiles and is wrong: what it refers to is the parent's, which may be in another process by
/// then. May migrate the caller.
/// @code
/// long fib(long n) {
///   if (n < 2) return n;
///   auto x = tobi::spawn([=] { return fib(n - 1); });  // the child runs now; what follows can be stolen
///   const long y = fib(n - 2);
///   return x.join() + y;
/// }
///
/// const long r = tobi::run([] { return fib(20); });
/// if (rt.rank() == 0) std::printf("%ld\n", r);  // prints 6765
/// @endcode
template <class F, class... Arguments>
auto spawn(F&& function, Arguments&&... arguments) ->
    typename detail::spawned<task, std::decay_t<F>, std::decay_t<Arguments>...>::type {
  return detail::spawn<task>(std::forward<F>(function), std::forward<Arguments>(arguments)...);
}

/// Serves what other workers ask of this one: work, releases of global memory, operations on its memory where the
/// transport must be polled. Forks do it by themselves. In a leaf a thread of the worker does it within some 100 us.
/// This call is for a leaf in which that is too late. Does not migrate the caller.
void poll() noexcept;

}  // namespace tobi

#endif  // TOBI_ELIDE
