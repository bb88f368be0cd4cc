// SPDX-License-Identifier: Apache-2.0
// Tasks, and the ways between them and main.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "ityr/runtime.hpp"
#include "tobi/tobi.hpp"

namespace ityr {

/// How much work a function of parallel_invoke() is, compared with the others: see tobi/hint.hpp.
template <class W>
struct workhint_of {
  W work;
  W rest;
};
template <class W>
constexpr workhint_of<W> workhint(W work) noexcept {
  return {work, work};
}

namespace internal {

template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class T>
inline constexpr bool is_workhint = false;
template <class W>
inline constexpr bool is_workhint<workhint_of<W>> = true;

/// A function with its arguments, called once.
template <class F, class Arguments>
struct bound {
  F function;
  Arguments arguments;
  auto operator()() { return std::apply(std::move(function), std::move(arguments)); }
};
template <class F, class... Arguments>
auto bind(F&& function, Arguments&&... arguments) {
  using all = std::tuple<std::decay_t<Arguments>...>;
  return bound<std::decay_t<F>, all>{std::forward<F>(function), all(std::forward<Arguments>(arguments)...)};
}

/// An object whose bytes go to another process, and are the object there, whatever its constructors are. As in Itoyori,
/// it holds no memory that one process has for itself.
template <class T>
struct moved {
  T object;
  auto operator()() requires std::is_invocable_v<T&> { return object(); }
};

/// The bytes of an object that is ended by whatever uses them, once.
template <class T>
class bytes_of {
 public:
  bytes_of() noexcept = default;
  explicit bytes_of(T&& object) { ::new (static_cast<void*>(bytes_)) T(std::move(object)); }
  /// Ends the object, and returns it.
  [[nodiscard]] T take() {
    T* const object = std::launder(reinterpret_cast<T*>(bytes_));
    T taken = std::move(*object);
    std::destroy_at(object);
    return taken;
  }

 private:
  alignas(T) std::byte bytes_[sizeof(T)] = {};
};

/// Calls FUNCTION, of any type, once, where the closure is copied by its bytes. The result is of any type too.
template <class F>
auto by_bytes(bytes_of<F> function) {
  using R = std::invoke_result_t<F&>;
  return [function]() mutable {
    F mine = function.take();
    if constexpr (std::is_void_v<R> || tobi::detail::travels<R>) {
      return mine();
    } else {
      return bytes_of<R>(mine());
    }
  };
}
template <class R>
inline constexpr bool comes_as_bytes = !std::is_void_v<R> && !tobi::detail::travels<R>;

}  // namespace internal
}  // namespace ityr

template <class T>
inline constexpr bool tobi::migratable<ityr::internal::moved<T>> = true;

namespace ityr {
namespace internal {

/// A child that runs FUNCTION, which may be of any type. Its join() returns a moved<R> where R is of any type.
template <class F>
auto fork(F&& function) {
  using C = std::decay_t<F>;
  using R = std::invoke_result_t<C&>;
  if constexpr (comes_as_bytes<R>) {
    auto body = [f = std::forward<F>(function)]() mutable { return moved<R>{f()}; };
    return tobi::spawn(moved<decltype(body)>{std::move(body)});
  } else if constexpr (tobi::detail::travels<C>) {
    return tobi::spawn(function);
  } else {
    return tobi::spawn(moved<C>{std::forward<F>(function)});
  }
}
template <class R>
R plain(R&& result) {
  return std::forward<R>(result);
}
template <class R>
R plain(moved<R>&& result) {
  return std::move(result.object);
}

/// What a function returns, and std::monostate where that is nothing.
template <class F>
auto value_of(F& function) {
  using R = std::invoke_result_t<F&>;
  if constexpr (std::is_void_v<R>) {
    function();
    return std::tuple<std::monostate>();
  } else {
    return std::tuple<std::remove_cvref_t<R>>(function());
  }
}

inline std::tuple<> invoke_all() { return {}; }
template <class F>
auto invoke_all(F& last) {
  return value_of(last);
}
template <class F, class... Rest>
auto invoke_all(F& first, Rest&... rest) {
  using R = std::invoke_result_t<F&>;
  auto child = fork(std::move(first));
  auto others = invoke_all(rest...);
  if constexpr (std::is_void_v<R>) {
    child.join();
    return std::tuple_cat(std::tuple<std::monostate>(), std::move(others));
  } else {
    return std::tuple_cat(std::tuple<std::remove_cvref_t<R>>(plain(child.join())), std::move(others));
  }
}

/// The functions of parallel_invoke() with their arguments, in a tuple.
inline std::tuple<> calls() { return {}; }
template <class F, class... Rest>
auto calls(F&& function, Rest&&... rest);
template <class F, class Arguments, class... Rest>
auto calls_with(F&& function, Arguments&& arguments, Rest&&... rest) {
  using call = bound<std::decay_t<F>, std::decay_t<Arguments>>;
  return std::tuple_cat(std::tuple<call>(call{std::forward<F>(function), std::forward<Arguments>(arguments)}),
                        calls(std::forward<Rest>(rest)...));
}
template <class F, class Next, class... Rest>
auto calls_next(F&& function, Next&& next, Rest&&... rest) {
  if constexpr (is_tuple<std::decay_t<Next>>) {
    return calls_with(std::forward<F>(function), std::forward<Next>(next), std::forward<Rest>(rest)...);
  } else {
    return calls_with(std::forward<F>(function), std::tuple<>(), std::forward<Next>(next), std::forward<Rest>(rest)...);
  }
}
template <class F, class... Rest>
auto calls(F&& function, Rest&&... rest) {
  if constexpr (is_workhint<std::decay_t<F>>) {
    return calls(std::forward<Rest>(rest)...);
  } else if constexpr (sizeof...(Rest) == 0) {
    return calls_with(std::forward<F>(function), std::tuple<>());
  } else {
    return calls_next(std::forward<F>(function), std::forward<Rest>(rest)...);
  }
}

/// The work of N functions, as EACH of the arguments of parallel_invoke() says it.
template <std::size_t N, class... Calls>
tobi::pieces::told_work<N> work_of([[maybe_unused]] const Calls&... each) {
  tobi::pieces::told_work<N> all{};
  std::size_t functions = 0;
  [[maybe_unused]] const auto look = [&](const auto& argument) {
    using A = std::decay_t<decltype(argument)>;
    if constexpr (is_workhint<A>) {
      all.each[functions - 1] = static_cast<double>(argument.work);
    } else if constexpr (!is_tuple<A>) {
      all.each[functions++] = 1;
    }
  };
  (look(each), ...);
  return all;
}
/// Whether functions can be dealt to other workers.
template <class... C>
inline constexpr bool can_be_dealt = (tobi::detail::travels<C> && ...) &&
                                     (!comes_as_bytes<std::invoke_result_t<C&>> && ...);

}  // namespace internal

/// Calls functions in parallel, and returns their results in a tuple, std::monostate for none. Each function may be
/// followed by a tuple of its arguments, and by a workhint().
template <class... Calls>
auto parallel_invoke(Calls&&... each) {
  const auto work = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    return internal::work_of<N>(each...);
  };
  auto all = internal::calls(std::forward<Calls>(each)...);
  return std::apply(
      [&]<class... C>(C&... one) {
        if constexpr (sizeof...(C) != 0 && internal::can_be_dealt<C...>) {
          if (tobi::pieces::divides()) {
            return tobi::pieces::invoke_shares(work(std::integral_constant<std::size_t, sizeof...(C)>()), one...);
          }
        }
        return internal::invoke_all(one...);
      },
      all);
}

/// Collective: runs FUNCTION with ARGUMENTS as the root task, and returns its result in every process. In a task it is
/// a call.
template <class F, class... Arguments>
auto root_exec(F&& function, Arguments&&... arguments) {
  auto call = internal::bind(std::forward<F>(function), std::forward<Arguments>(arguments)...);
  using C = decltype(call);
  using R = std::invoke_result_t<C&>;
  static_assert(std::is_void_v<R> || tobi::detail::travels<R>,
                "tobi: the root's result is copied to all processes by its bytes: return numbers, spans, or plain "
                "structures");
  if (is_root()) return call();
  if constexpr (tobi::detail::travels<C>) {
    return tobi::run(call);
  } else {
    // Of the processes' closures that of process 0 is called and ended there; each other one ends here.
    return tobi::run(
        internal::by_bytes(is_master() ? internal::bytes_of<C>(std::move(call)) : internal::bytes_of<C>()));
  }
}

/// In a task: every process calls FUNCTION with ARGUMENTS outside of tasks, and the result is that of the process that
/// calls this. Elsewhere it is a call.
template <class F, class... Arguments>
auto coll_exec(F&& function, Arguments&&... arguments) {
  auto call = internal::bind(std::forward<F>(function), std::forward<Arguments>(arguments)...);
  using C = decltype(call);
  using R = std::invoke_result_t<C&>;
  static_assert(tobi::detail::travels<C> && (std::is_void_v<R> || tobi::detail::travels<R>),
                "tobi: what all processes call is copied to them by its bytes, and its result back");
  if (is_spmd()) return call();
  return tobi::on_all_workers([call, asks = my_rank()](tobi::runtime& rt) {
    C mine = call;
    if constexpr (std::is_void_v<R>) {
      mine();
    } else {
      return rt.broadcast(R(mine()), asks);
    }
  });
}

/// The task goes on in process RANK, if it can.
inline void migrate_to(rank_t rank) { tobi::migrate_to(rank); }
/// The task goes on in process 0, if it can.
inline void migrate_to_master() { migrate_to(0); }

namespace ito {

using ityr::coll_exec;
using ityr::is_root;
using ityr::is_spmd;
using ityr::migrate_to;
using ityr::migrate_to_master;
using ityr::root_exec;

struct with_callback_t {};
inline constexpr with_callback_t with_callback{};
struct with_workhint_t {};
inline constexpr with_workhint_t with_workhint{};
template <class W>
constexpr workhint_of<W> workhint(W work, W rest) noexcept {
  return {work, rest};
}

/// A task that can be moved before it is joined, once.
template <class R>
class thread {
 public:
  thread() noexcept = default;
  template <class F, class... Arguments>
  requires(!std::is_same_v<std::remove_cvref_t<F>, thread>) explicit thread(F&& function, Arguments&&... arguments) {
    fork(std::forward<F>(function), std::forward<Arguments>(arguments)...);
  }
  thread(const thread&) = delete;
  thread& operator=(const thread&) = delete;
  thread(thread&& other) noexcept : task_(std::exchange(other.task_, {})) {}
  thread& operator=(thread&& other) noexcept {
    task_ = std::exchange(other.task_, {});
    return *this;
  }

  /// Begins FUNCTION with ARGUMENTS. The callbacks that Itoyori has for steals are not called: forks and joins make
  /// global memory coherent.
  template <class F, class... Arguments>
  void fork(F&& function, Arguments&&... arguments) {
    auto call = internal::bind(std::forward<F>(function), std::forward<Arguments>(arguments)...);
    task_ = tobi::spawn_future(internal::by_bytes(internal::bytes_of<decltype(call)>(std::move(call))), 1);
  }
  template <class OnFork, class OnDie, class F, class... Arguments>
  void fork(with_callback_t, OnFork&&, OnDie&&, F&& function, Arguments&&... arguments) {
    fork(std::forward<F>(function), std::forward<Arguments>(arguments)...);
  }
  template <class W, class F, class... Arguments>
  void fork(with_workhint_t, W, W, F&& function, Arguments&&... arguments) {
    fork(std::forward<F>(function), std::forward<Arguments>(arguments)...);
  }
  template <class W, class F, class... Arguments>
  void fork(workhint_of<W>, F&& function, Arguments&&... arguments) {
    fork(std::forward<F>(function), std::forward<Arguments>(arguments)...);
  }

  R join() {
    const auto task = std::exchange(task_, {});
    if constexpr (internal::comes_as_bytes<R>) {
      auto result = task.join();
      return result.take();
    } else {
      return task.join();
    }
  }
  /// Returns whether the task was run by its parent's process without a steal: it is not known here.
  [[nodiscard]] bool serialized() const noexcept { return false; }

 private:
  using kept = std::conditional_t<internal::comes_as_bytes<R>, internal::bytes_of<R>, R>;
  tobi::future<kept> task_;
};

/// A scope of tasks whose work hints belong together. Work hints have no effect here.
struct task_group_data {};
inline task_group_data task_group_begin() noexcept { return {}; }
inline void task_group_begin(task_group_data*) noexcept {}
template <class... Ignored>
void task_group_end(Ignored&&...) noexcept {}

inline void poll() { tobi::poll(); }

}  // namespace ito
}  // namespace ityr
