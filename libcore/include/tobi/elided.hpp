// SPDX-License-Identifier: Apache-2.0
// The serial elision: the same names without the runtime, for programs compiled with TOBI_ELIDE. It is in an inline
// namespace of its own, so that both can be linked into one binary.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "tobi/detail/fork.hpp"
#include "tobi/detail/spawned.hpp"

namespace tobi {
namespace detail {
/// Calls what lies in CLOSURE, and ends it.
template <class R, class F>
R elided_call(room_for<F, false>& closure) {
  F own = std::move(closure.value);
  std::destroy_at(std::addressof(closure.value));
  return own();
}
}  // namespace detail
inline namespace elided {

template <class R>
class [[nodiscard]] task {
 public:
  template <class F>
  explicit task(const F& function) : value_(call(function)) {
    detail::check_closure<F>();
  }
  template <class F>
  explicit task(detail::room_for<F, false>& closure) : value_(detail::elided_call<R>(closure)) {}
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  /// Says what to use instead.
  template <std::same_as<task> Same>
  task(Same&&) {
    static_assert(!std::same_as<Same, task>, TOBI_HANDLE_SENTENCE);
  }
  R join() {
    if constexpr (std::is_copy_constructible_v<R>) {
      return value_;
    } else {
      return std::move(value_);
    }
  }
  [[nodiscard]] bool done() const noexcept { return true; }

 private:
  template <class F>
  static R call(const F& function) {
    F own = function;
    return own();
  }
  R value_;
};

template <>
class [[nodiscard]] task<void> {
 public:
  template <class F>
  explicit task(const F& function) {
    detail::check_closure<F>();
    F own = function;
    own();
  }
  template <class F>
  explicit task(detail::room_for<F, false>& closure) {
    detail::elided_call<void>(closure);
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  /// Says what to use instead.
  template <std::same_as<task> Same>
  task(Same&&) {
    static_assert(!std::same_as<Same, task>, TOBI_HANDLE_SENTENCE);
  }
  void join() {}
  [[nodiscard]] bool done() const noexcept { return true; }
};

template <class F, class... Arguments>
auto spawn(F&& function, Arguments&&... arguments) ->
    typename detail::spawned<task, std::decay_t<F>, std::decay_t<Arguments>...>::type {
  return detail::spawn<task>(std::forward<F>(function), std::forward<Arguments>(arguments)...);
}

inline void poll() noexcept {}

}  // namespace elided
}  // namespace tobi
