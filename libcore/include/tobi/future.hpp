// A result that any task may wait for, not only the parent: for task graphs that are not trees.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tobi/detail/fork.hpp"
#include "tobi/task.hpp"

namespace tobi {

/// For futures that are joined as often as one likes; they last until the end of the run().
inline constexpr std::uint32_t any_number = 0;

#ifndef TOBI_ELIDE

namespace detail {
extern "C" {
/// A record for CONSUMERS joins (0: any number, freed at the end of the run), on this worker.
std::uint64_t tobi_future_create(std::uint32_t consumers) noexcept;
void tobi_future_set(std::uint64_t record, const void* value, std::uint32_t bytes) noexcept;
void tobi_future_fail(std::uint64_t record) noexcept;
void tobi_future_join(std::uint64_t record, void* value, std::uint32_t bytes);
}

/// What the task of a future runs: the body, then the record. Nobody joins the task itself.
template <class F, class R>
struct future_body {
  F function;
  std::uint64_t record;
  void operator()() {
    try {
      if constexpr (std::is_void_v<R>) {
        function();
        tobi_future_set(record, nullptr, 0);
      } else {
        const R value = function();
        tobi_future_set(record, &value, sizeof value);
      }
    } catch (...) {
      tobi_future_fail(record);
    }
  }
};
}  // namespace detail

/// A handle to the result of spawn_future. Trivially copyable: pass it in closures and results, to any task. It must be
/// joined exactly as often as its maker said (`consumers`), before the root returns.
template <class R>
class future {
 public:
  future() = default;
  explicit future(std::uint64_t record) : record_(record) {}

  /// The result; waits for it, which may migrate the caller. The task's exception is thrown as task_error.
  R join() const {
    if constexpr (std::is_void_v<R>) {
      detail::tobi_future_join(record_, nullptr, 0);
    } else {
      union {
        R value;
      };
      detail::tobi_future_join(record_, &value, sizeof(R));
      return value;
    }
  }

 private:
  std::uint64_t record_ = 0;
};

/// Forks FUNCTION like spawn, for CONSUMERS joins from anywhere: 1 by default, any_number for an open end.
template <class F>
future<detail::result_of<F>> spawn_future(F function, std::uint32_t consumers = 1) {
  using R = detail::result_of<F>;
  detail::check_closure<F>();
  detail::check_result<R>();
  const std::uint64_t record = detail::tobi_future_create(consumers);
  detail::future_body<F, R> body{function, record};
  detail::fork_task<void>(body, nullptr);
  return future<R>(record);
}

#else

inline namespace elided {
template <class R>
class future {
 public:
  future() = default;
  explicit future(R value) : value_(value) {}
  R join() const { return value_; }

 private:
  R value_{};
};
template <>
class future<void> {
 public:
  void join() const {}
};
template <class F>
auto spawn_future(F function, std::uint32_t = 1) {
  if constexpr (std::is_void_v<detail::result_of<F>>) {
    function();
    return future<void>();
  } else {
    return future<detail::result_of<F>>(function());
  }
}
}  // namespace elided

#endif

}  // namespace tobi
