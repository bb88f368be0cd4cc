// Fork and join. spawn() runs the child at once, on the same stack; what follows the call, the continuation, can be
// taken by another worker and then goes on in another process, at the same stack addresses ("uni-address threads",
// Akiyama and Taura, HPDC 2015; greedy join as in Shiina and Taura, CLUSTER 2022).
//
// What a task may rely on: its own locals, by value or by address; code and constants; what its closure captured by
// value. What it may not: another task's locals, mutable globals, thread_local variables and process-private memory
// across a spawn or join; spawning or joining inside a catch clause. TOBI_DEBUG_MIGRATE=1 finds the first of these at
// once.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tobi/detail/fork.hpp"
#include "tobi/error.hpp"

#ifdef TOBI_ELIDE
#include "tobi/elided.hpp"
#else

namespace tobi {

/// A running or finished child that returns R (trivially copyable, or void). It lives where it was made, among the
/// locals of the parent; it is neither copied nor moved. Constructing one is the fork.
template <class R>
class [[nodiscard]] task {
  static_assert(std::is_trivially_copyable_v<R>,
                "tobi: a task's result must be trivially copyable: it may be joined in another process");

 public:
  /// Forks FUNCTION. May migrate the caller.
  template <class F>
  explicit task(F function) {
    detail::check_closure<F>();
    handle_.record = 0;
    const detail::registers2 r = detail::fork_task<R>(function, &handle_);
    if constexpr (detail::in_registers<R>) value_ = detail::from_registers<R>(r);
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  /// Joins, and drops the result and any exception, if join() was not called.
  ~task() {
    if (handle_.record != 0) [[unlikely]] {
      detail::tobi_abandon(&handle_);
    }
  }

  /// The child's result; waits for it, which may migrate the caller. A child's exception is thrown as task_error.
  /// A second call returns the same result.
  R join() {
    if (handle_.record != 0) [[unlikely]] {
      detail::tobi_join(&handle_, &value_, sizeof(R));
    }
    return value_;
  }

 private:
  detail::handle handle_;
  union {
    R value_;
  };
};

template <>
class [[nodiscard]] task<void> {
 public:
  template <class F>
  explicit task(F function) {
    detail::check_closure<F>();
    handle_.record = 0;
    detail::fork_task<void>(function, &handle_);
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  ~task() {
    if (handle_.record != 0) [[unlikely]] {
      detail::tobi_abandon(&handle_);
    }
  }

  void join() {
    if (handle_.record != 0) [[unlikely]] {
      detail::tobi_join(&handle_, nullptr, 0);
    }
  }

 private:
  detail::handle handle_;
};

/// Forks FUNCTION, whose closure must be trivially copyable: `auto x = tobi::spawn([=] { return f(n); });`.
template <class F>
task<detail::result_of<F>> spawn(F function) {
  return task<detail::result_of<F>>(function);
}

/// Serves what other workers ask of this one: work, releases of global memory, operations on its memory where the
/// transport must be polled. Forks do it by themselves, and in a leaf a thread of the worker does it within some 100
/// us; this is for a leaf in which that is too late. Does not migrate the caller.
void poll() noexcept;

}  // namespace tobi

#endif  // TOBI_ELIDE
