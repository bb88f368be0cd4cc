// SPDX-License-Identifier: Apache-2.0
// What spawn(function, arguments...) makes: the task, or one sentence about what cannot be spawned. Not for users.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tobi/detail/fork.hpp"
#include "tobi/detail/standard.hpp"

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
  static constexpr bool closure_travels = travels<F>;
  static constexpr bool arguments_travel = (travels<Arguments> && ...);
  static constexpr bool callable = [] {
    if constexpr (a_function && closure_travels && arguments_travel) {
      return std::is_invocable_v<F&, Arguments...>;
    } else {
      return false;
    }
  }();
  using result = typename called<callable, F, Arguments...>::result;
  static constexpr bool result_travels = std::is_void_v<result> || travels<result>;
  static constexpr bool right = callable && result_travels;
  using type = std::conditional_t<right, Task<result>, refused<result>>;

  /// The first sentence that is true. It is said in a function, since after one in the class clang says that there is
  /// no spawn() at all.
  static constexpr void check() {
    static_assert(a_function, "tobi: spawn() takes a function, a lambda or another object that can be called");
    static_assert(!a_function || closure_travels, TOBI_CLOSURE_SENTENCE);
    static_assert(!a_function || !closure_travels || arguments_travel,
                  "tobi: the arguments of spawn() are copied by their bytes, because the parent may move to another "
                  "process: their copy constructors and destructors must be trivial");
    static_assert(!a_function || !closure_travels || !arguments_travel || callable,
                  "tobi: the function that is spawned cannot be called with these arguments: spawn(f, a, b) calls "
                  "f(a, b) with copies of a and b, and spawn(f) calls f()");
    static_assert(result_travels, TOBI_RESULT_SENTENCE);
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
    const std::decay_t<F>& closure = function;
    return Task<result>(closure);
  } else {
    return Task<result>(bound<result, std::decay_t<F>, std::decay_t<Arguments>...>{
        std::forward<F>(function), {std::forward<Arguments>(arguments)...}});
  }
}

}  // namespace tobi::detail
