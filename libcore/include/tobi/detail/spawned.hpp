// SPDX-License-Identifier: Apache-2.0
// What spawn(function, arguments...) makes: the task, or one sentence about what cannot be spawned. Not for users.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <functional>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tobi/detail/fork.hpp"
#include "tobi/detail/standard.hpp"
#include "tobi/migratable.hpp"

namespace tobi::detail {

/// What a spawn that was refused returns, so that the compiler says no more than the sentence.
template <class R>
struct refused {
  R join();
};

#define TOBI_HANDLE_SENTENCE                                                                                         \
  "tobi: a task is not moved, and no container holds tasks, since a thief finds it where it was made: run children " \
  "whose number is not known in a tobi::task_group, by a recursion that spawns one and goes on, or as "              \
  "tobi::spawn_future, whose futures are copied"

/// Whether an R may be what one child returns to its parent.
template <class R>
inline constexpr bool result_moves = std::is_void_v<R> || moves<R>;
template <class R>
constexpr void check_moved_result() {
  static_assert(result_moves<R>, TOBI_RESULT_SENTENCE);
}

/// The result of calling an F with ARGUMENTS, or an int where it cannot be called.
template <bool Callable, class F, class... Arguments>
struct called {
  using result = int;
};
template <class F, class... Arguments>
struct called<true, F, Arguments...> {
  using result = std::remove_cv_t<std::invoke_result_t<F&, Arguments...>>;
};

template <class F>
inline constexpr bool may_be_called = std::is_class_v<F> || std::is_union_v<F> || std::is_member_pointer_v<F> ||
                                      std::is_function_v<std::remove_pointer_t<F>>;

/// F and ARGUMENTS are decayed.
template <template <class> class Task, class F, class... Arguments>
struct spawned {
  static constexpr bool a_function = may_be_called<F>;
  static constexpr bool closure_moves = detail::moves<F>;
  static constexpr bool arguments_move = (detail::moves<Arguments> && ...);
  static constexpr bool callable = [] {
    if constexpr (a_function && closure_moves && arguments_move) {
      return std::is_invocable_v<F&, Arguments...>;
    } else {
      return false;
    }
  }();
  using result = typename called<callable, F, Arguments...>::result;
  static constexpr bool right = callable && result_moves<result>;
  using type = std::conditional_t<right, Task<result>, refused<result>>;

  /// The first sentence that is true. It is said in a function, since after one in the class clang says that there is
  /// no spawn() at all.
  static constexpr void check() {
    static_assert(a_function, "tobi: spawn() takes a function, a lambda or another object that can be called");
    static_assert(!a_function || closure_moves, TOBI_CLOSURE_SENTENCE);
    static_assert(
        !a_function || !closure_moves || arguments_move,
        "tobi: the arguments of spawn() go to the child by their bytes, because either of the two may move to "
        "another process: their copy constructors and destructors must be trivial, or tobi::migratable says "
        "that they may, as it does of a tobi::global_vector");
    static_assert(!a_function || !closure_moves || !arguments_move || callable,
                  "tobi: the function that is spawned cannot be called with these arguments: spawn(f, a, b) calls "
                  "f(a, b) with copies of a and b, and spawn(f) calls f()");
    check_moved_result<result>();
  }
};

/// A function and its arguments as one closure.
template <class R, class F, class... Arguments>
struct bound {
  [[no_unique_address]] F function;  // an empty one takes no word, which nobody would set
  [[no_unique_address]] std::tuple<Arguments...> arguments;

  R operator()() {
    return std::apply([this](Arguments&... each) -> R { return std::invoke(function, std::move(each)...); }, arguments);
  }
};

/// Forks what lies in CLOSURE, all of whose bytes go to the child: also those that an empty optional has not set.
template <class Task, class F>
[[gnu::always_inline]] inline Task given_up(room_for<F, false>& closure) {
  // As bytes, since a closure's members may be const.
  asm("" : "+m"(*reinterpret_cast<unsigned char(*)[sizeof(F)]>(std::addressof(closure))));
  return Task(closure);
}

/// Forks FUNCTION with ARGUMENTS, or says why not.
template <template <class> class Task, class F, class... Arguments>
[[gnu::always_inline]] inline auto spawn(F&& function, Arguments&&... arguments) ->
    typename spawned<Task, std::decay_t<F>, std::decay_t<Arguments>...>::type {
  using made = spawned<Task, std::decay_t<F>, std::decay_t<Arguments>...>;
  using result = typename made::result;
  made::check();
  if constexpr (!made::right) {
    return {};
  } else if constexpr (sizeof...(Arguments) == 0) {
    if constexpr (travels<std::decay_t<F>>) {
      const std::decay_t<F>& closure = function;
      return Task<result>(closure);
    } else {
      room_for<std::decay_t<F>, false> closure;
      ::new (static_cast<void*>(std::addressof(closure.value))) std::decay_t<F>(std::forward<F>(function));
      return given_up<Task<result>>(closure);
    }
  } else {
    using whole = bound<result, std::decay_t<F>, std::decay_t<Arguments>...>;
    if constexpr (travels<whole>) {
      return Task<result>(whole{std::forward<F>(function), {std::forward<Arguments>(arguments)...}});
    } else {
      room_for<whole, false> closure;
      ::new (static_cast<void*>(std::addressof(closure.value)))
          whole{std::forward<F>(function), {std::forward<Arguments>(arguments)...}};
      return given_up<Task<result>>(closure);
    }
  }
}

}  // namespace tobi::detail
