// SPDX-License-Identifier: Apache-2.0
// Results that any task may wait for, not only the parent: for task graphs that are not trees. A future is made with
// the task that will give the result (spawn_future), or with a promise that any task sets (make_promise).
//
// A handle is trivially copyable: pass it in closures, in results, inside other structures, to any task of the run. The
// record behind it is freed by the last of its consumers.
//
// Tasks that wait for a future can be taken by idle workers from the moment it is set, also while the task that set it
// computes on. The tasks that wait for one future spread in a number of steals in a row that grows with the logarithm
// of their number. Thirteen futures that were set are in sight at a time, each with all its waiting tasks. Of more than
// thirteen, the next one comes into sight soon after one was taken. That is so under continuation_greedy and adws. With
// the other schedulers of TOBI_SCHED a waiting task goes on where it waits.
//
// A mistake ends the job with one sentence: a future that is joined more often than its maker said, one that is set
// twice, and, once nothing else can run, one that a task waits for and that nobody sets.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tobi/detail/fork.hpp"
#include "tobi/task.hpp"

#ifdef TOBI_ELIDE
#include <memory>
#include <stdexcept>
#endif

namespace tobi {

/// For a future that is joined any number of times. It lasts until the end of the run().
inline constexpr std::uint32_t any_number = 0;

#ifndef TOBI_ELIDE

namespace detail {
/// A future's record, and what tells it from an earlier one in the same place.
struct future_name {
  std::uint64_t record;
  std::uint64_t ticket;
};
extern "C" {
/// A record for CONSUMERS joins (0: any number, freed at the end of the run), on this worker.
future_name tobi_future_create(std::uint32_t consumers, int promise) noexcept;
/// CHECKED: ends the job if it was set before.
void tobi_future_set(future_name which, const void* value, std::uint32_t bytes, int checked) noexcept;
/// In a catch clause: sets the exception in place of a value.
void tobi_future_fail(future_name which, int checked) noexcept;
void tobi_future_join(future_name which, void* value, std::uint32_t bytes);
}

/// What the task of a future runs: the body, then the record. Nobody joins the task itself.
template <class F, class R>
struct future_body {
  [[no_unique_address]] F function;  // an empty one takes no word, which nobody would set
  future_name name;
  void operator()() {
    try {
      if constexpr (std::is_void_v<R>) {
        function();
        tobi_future_set(name, nullptr, 0, 0);
      } else {
        const R value = function();
        tobi_future_set(name, std::addressof(value), sizeof value, 0);
      }
    } catch (...) {
      tobi_future_fail(name, 0);
    }
  }
};
}  // namespace detail

/// A handle to a result. It is trivially copyable. R may be incomplete until join() is used, so a result may hold
/// futures of its own type. It must be joined exactly as often as its maker said (`consumers`), before the root
/// returns.
template <class R>
class future {
 public:
  /// Names no result. Joining it ends the job.
  future() = default;
  /// Made by spawn_future() and promise::get_future().
  explicit future(detail::future_name name) : name_(name) {}

  /// Returns whether the handle names a result at all, not whether the result is there.
  [[nodiscard]] bool valid() const noexcept { return name_.record != 0; }

  /// Waits for the result, which may migrate the caller, and returns it. The task's exception is thrown as task_error.
  R join() const {
    detail::check_result<R>();
    if constexpr (std::is_void_v<R>) {
      detail::tobi_future_join(name_, nullptr, 0);
    } else if constexpr (!detail::travels<R>) {
      __builtin_unreachable();
    } else {
      detail::room_for<R> got;
      detail::tobi_future_join(name_, std::addressof(got.value), sizeof(R));
      return got.value;
    }
  }

 private:
  detail::future_name name_{};
};

/// The other end of a future that no task was spawned for. Any task sets it, once. It is trivially copyable.
template <class R>
class promise {
 public:
  promise() = default;
  /// Made by make_promise().
  explicit promise(detail::future_name name) : name_(name) {}

  /// Returns the handle to join. It is the same each time, so its consumers are those of the promise.
  [[nodiscard]] future<R> get_future() const noexcept { return future<R>(name_); }
  /// Gives the result. The tasks that wait for it can go on at once, here or on idle workers. The caller goes on too,
  /// and does not migrate.
  template <class T = R>
  requires(!std::is_void_v<T>) void set(const T& value) const noexcept {
    detail::check_result<R>();
    const R given = value;
    detail::tobi_future_set(name_, &given, sizeof given, 1);
  }
  /// Sets a promise without a result.
  void set() const noexcept requires(std::is_void_v<R>) { detail::tobi_future_set(name_, nullptr, 0, 1); }
  /// In a catch clause: each join throws the exception being handled, as task_error.
  void fail() const noexcept { detail::tobi_future_fail(name_, 1); }

 private:
  detail::future_name name_{};
};

/// Makes a promise whose future is joined by CONSUMERS tasks: 1 by default, any_number for any number. Does not migrate
/// the caller.
/// @code
/// const int got = tobi::run([] {
///   const auto p = tobi::make_promise<int>();
///   auto reader = tobi::spawn([=] { return 1 + p.get_future().join(); });  // waits until somebody sets the promise
///   p.set(41);
///   return reader.join();
/// });
/// if (rt.rank() == 0) std::printf("%d\n", got);  // prints 42
/// @endcode
template <class R>
promise<R> make_promise(std::uint32_t consumers = 1) noexcept {
  return promise<R>(detail::tobi_future_create(consumers, 1));
}

/// Forks FUNCTION like spawn, for CONSUMERS joins from any task: 1 by default, any_number for any number.
/// @code
/// const int sum = tobi::run([] {
///   const auto a = tobi::spawn_future([] { return 3; }, 2);  // two tasks join it
///   const auto b = tobi::spawn_future([=] { return 2 * a.join(); });
///   const auto c = tobi::spawn_future([=] { return 5 * a.join(); });
///   return b.join() + c.join();
/// });
/// if (rt.rank() == 0) std::printf("%d\n", sum);  // prints 21
/// @endcode
template <class Function>
future<detail::result_of<std::decay_t<Function>>> spawn_future(Function&& function, std::uint32_t consumers = 1) {
  using F = std::decay_t<Function>;
  using R = detail::result_of<F>;
  detail::check_closure<F>();
  detail::check_result<R>();
  if constexpr (detail::travels<F> && detail::result_travels<R>) {
    const detail::future_name name = detail::tobi_future_create(consumers, 0);
    detail::future_body<F, R> body{std::forward<Function>(function), name};
    detail::fork_task<void>(body, nullptr);
    return future<R>(name);
  } else {
    return {};
  }
}

#else

inline namespace elided {
namespace detail_elided {
/// One word for void too.
template <class R>
struct cell {
  using value_type = std::conditional_t<std::is_void_v<R>, char, R>;
  value_type value;
  std::uint32_t left;
  bool open;  // any number of consumers: lasts as long as the program
  bool is_set;
  std::unique_ptr<cell> next;  // of those
  ~cell() {                    // one after the other: a long list is no deep recursion
    while (next) next = std::move(next->next);
  }
};
}  // namespace detail_elided

/// Throws std::logic_error where the parallel program would end. Joined too often cannot be told from joined late here.
template <class R>
class future {
 public:
  future() = default;
  explicit future(detail_elided::cell<R>* state) : state_(state) {}
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
  R join() const {
    if (state_ == nullptr || !state_->is_set) throw std::logic_error("tobi: a future is joined that was never set");
    if constexpr (std::is_void_v<R>) {
      drop();
    } else {
      const R value = state_->value;
      drop();
      return value;
    }
  }

 private:
  // Not inlined: GCC 12 cannot count the consumers, and would warn that each reads what the one before has deleted.
  [[gnu::noinline]] void drop() const {
    if (!state_->open && --state_->left == 0) delete state_;
  }
  detail_elided::cell<R>* state_ = nullptr;
};

template <class R>
class promise {
 public:
  promise() = default;
  explicit promise(detail_elided::cell<R>* state) : state_(state) {}
  [[nodiscard]] future<R> get_future() const noexcept { return future<R>(state_); }
  template <class T = R>
  requires(!std::is_void_v<T>) void set(const T& value) const {
    once();
    state_->value = value;
  }
  void set() const requires(std::is_void_v<R>) { once(); }

 private:
  void once() const {
    if (state_ == nullptr || state_->is_set) throw std::logic_error("tobi: a promise is set twice, or names none");
    state_->is_set = true;
  }
  detail_elided::cell<R>* state_ = nullptr;
};

template <class R>
promise<R> make_promise(std::uint32_t consumers = 1) {
  auto* made = new detail_elided::cell<R>{{}, consumers, consumers == any_number, false, nullptr};
  if (consumers == any_number) {
    static std::unique_ptr<detail_elided::cell<R>> lasting;
    made->next = std::move(lasting);
    lasting.reset(made);
  }
  return promise<R>(made);
}

template <class Function>
future<detail::result_of<std::decay_t<Function>>> spawn_future(const Function& closure, std::uint32_t consumers = 1) {
  using F = std::decay_t<Function>;
  using R = detail::result_of<F>;
  F function = closure;
  const promise<R> made = make_promise<R>(consumers);
  if constexpr (std::is_void_v<R>) {
    function();
    made.set();
  } else {
    made.set(function());
  }
  return made.get_future();
}
}  // namespace elided

#endif

}  // namespace tobi
