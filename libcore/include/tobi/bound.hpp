// SPDX-License-Identifier: Apache-2.0
// Numbers that all tasks read often and few of them change, in one direction: the best solution so far of a branch and
// bound, a flag that says stop. Each worker has a copy, which it reads as it reads a variable. It looks at the number
// itself now and then. So the copy of a worker that reads it again and again is late by some 100 microseconds.
//
// Reads and updates need no order. A number only falls (shared_min) or only grows (shared_max), and so does each copy.
// So a task that has seen a value finds no worse one on the same worker afterwards.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <concepts>
#include <cstdint>
#include <ctime>
#include <type_traits>
#include <utility>

#include "tobi/accumulate.hpp"
#include "tobi/global_memory.hpp"
#include "tobi/per_worker.hpp"
#include "tobi/runtime.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// What the classes of this header are made of: not for users.
namespace pieces {

/// What is better: less, or more.
template <bool Less>
struct order {
  template <class T>
  static bool better(T a, T b) noexcept {
    return Less ? a < b : b < a;
  }
  /// Returns what the number was.
  template <class T>
  static T update(global_ptr<T> at, T value) {
    return Less ? fetch_min(at, value) : fetch_max(at, value);
  }
};
using least = order<true>;
using greatest = order<false>;

/// Nanoseconds of a clock that only grows.
inline std::int64_t clock_ns() noexcept {
  std::timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// A worker's copy.
template <class T>
struct bound_copy {
  T value;
  std::uint32_t reads_left = 0;  // until the clock is looked at
  std::int64_t fresh_until_ns = 0;
};

}  // namespace pieces

/// A shared bound as tasks name it. It is trivially copyable, and captured by value.
template <class T, class Order>
class bound_handle {
 public:
  /// Made by shared_bound::handle().
  bound_handle(global_ptr<T> at, per_worker_handle<pieces::bound_copy<T>> copy) noexcept : at_(at), copy_(copy) {}

  /// Returns the best value that this worker knows of. Costs some nanoseconds, and now and then a round trip. Does not
  /// migrate the caller.
  [[nodiscard]] T get() const {
    pieces::bound_copy<T>& copy = copy_.local();
    if (copy.reads_left-- == 0) [[unlikely]] {
      look(copy);
    }
    return copy.value;
  }
  /// Offers VALUE. Returns whether it is better than all that was offered before. Costs a round trip where it is better
  /// than this worker's copy, and else nothing.
  bool offer(T value) const {
    pieces::bound_copy<T>& copy = copy_.local();
    if (!Order::better(value, copy.value)) return false;
    const T before = Order::update(at_, value);
    copy.value = Order::better(value, before) ? value : before;
    return Order::better(value, before);
  }

 private:
  // Out of line, so that a loop that reads has its registers for itself. Nobody sees a number get worse, so what comes
  // of a look is at least as good as the copy.
  [[gnu::noinline]] void look(pieces::bound_copy<T>& copy) const {
    constexpr std::uint32_t reads_per_look = 32;
    constexpr std::int64_t fresh_ns = 100'000;
    copy.reads_left = reads_per_look;
    if (pieces::clock_ns() < copy.fresh_until_ns) return;
    const T found = load_relaxed(at_);
    if (Order::better(found, copy.value)) copy.value = found;
    copy.fresh_until_ns = pieces::clock_ns() + fresh_ns;
  }

  global_ptr<T> at_;
  per_worker_handle<pieces::bound_copy<T>> copy_;
};

/// A number that all workers make together in main, and end together: a shared_min, or a shared_max.
/// @code
/// tobi::shared_min<long> best(rt, 1000000);
/// tobi::run([best = best.handle()] {
///   tobi::parallel_for(0, 100000, 1, [=](int i) {
///     const long cost = (i - 77777L) * (i - 77777L) + 5;
///     if (cost < best.get()) best.offer(cost);  // get() costs some nanoseconds
///   });
/// });
/// const long found = best.value();
/// if (rt.rank() == 0) std::printf("%ld\n", found);  // prints 5
/// @endcode
template <detail::updated_number T, class Order>
class shared_bound {
 public:
  /// The type of handle(), for parameters and members of what tasks capture.
  using handle_type = bound_handle<T, Order>;

  /// Collective. FIRST is its value until a better one is offered.
  shared_bound(runtime& rt, T first) : rt_(rt), at_(allocate_all<T>(1)), copy_() { reset(first); }
  /// Collective.
  ~shared_bound() { free_all(at_); }
  shared_bound(const shared_bound&) = delete;
  shared_bound& operator=(const shared_bound&) = delete;

  /// Returns what tasks capture.
  [[nodiscard]] handle_type handle() const noexcept { return {at_.data(), copy_.handle()}; }
  /// In main: the best value that was offered.
  [[nodiscard]] T value() const { return load_relaxed(at_.data()); }
  /// Collective: begins anew with FIRST.
  void reset(T first) {
    *copy_ = {first};
    rt_.barrier();  // nobody still asks for the value as it was
    if (rt_.rank() == 0) store(at_.data(), first);
    rt_.barrier();
  }

 private:
  runtime& rt_;
  global_span<T> at_;
  per_worker<pieces::bound_copy<T>> copy_;
};

/// A number that falls: the cost of the best solution so far.
template <detail::updated_number T>
using shared_min = shared_bound<T, pieces::least>;
/// A number that grows.
template <detail::updated_number T>
using shared_max = shared_bound<T, pieces::greatest>;

/// A stop_flag as tasks name it. It is trivially copyable, and captured by value.
class stop_handle {
 public:
  /// Made by stop_flag::handle().
  explicit stop_handle(bound_handle<std::int64_t, pieces::greatest> raised) noexcept : raised_(raised) {}
  /// Returns whether some task has called stop(), as far as this worker knows.
  [[nodiscard]] bool stopped() const { return raised_.get() != 0; }
  /// Tells all workers.
  void stop() const { raised_.offer(1); }

 private:
  bound_handle<std::int64_t, pieces::greatest> raised_;
};

/// A flag of all workers that a task raises when the others need not go on: a solution was found, or something failed.
/// Each body looks at it first and returns, so what has not begun costs its fork alone.
/// @code
/// tobi::stop_flag found(rt);
/// const auto where = tobi::allocate_all<long>(1);
/// tobi::run([=, stop = found.handle()] {
///   tobi::parallel_for(0, 1000000, 1, [=](int i) {
///     if (stop.stopped() || i != 123456) return;
///     where[0] = i;
///     stop.stop();
///   });
/// });
/// rt.barrier();
/// const long place = where[0];
/// if (rt.rank() == 0) std::printf("%ld\n", place);  // prints 123456
/// @endcode
class stop_flag {
 public:
  /// The type of handle(), for parameters and members of what tasks capture.
  using handle_type = stop_handle;

  /// Collective.
  explicit stop_flag(runtime& rt) : raised_(rt, 0) {}
  /// Returns what tasks capture.
  [[nodiscard]] handle_type handle() const noexcept { return handle_type(raised_.handle()); }
  /// In main: whether it was raised.
  [[nodiscard]] bool stopped() const { return raised_.value() != 0; }
  /// Collective: takes it down.
  void reset() { raised_.reset(0); }

 private:
  shared_max<std::int64_t> raised_;
};

/// A function that looks at a flag first: see stoppable().
template <class Body>
class stoppable_body {
 public:
  /// Made by stoppable().
  stoppable_body(stop_handle stop, const Body& body) : stop_(stop), body_(body) {}
  /// Calls the body, unless the flag was raised.
  template <class... Arguments>
  requires std::invocable<Body&, Arguments...>
  void operator()(Arguments&&... arguments) {
    if (stop_.stopped()) return;
    try {
      body_(std::forward<Arguments>(arguments)...);
    } catch (...) {
      stop_.stop();
      throw;
    }
  }

 private:
  stop_handle stop_;
  [[no_unique_address]] Body body_;
};

/// Returns BODY as a function for tasks that does nothing where STOP was raised, and raises STOP where it throws: then
/// what has not begun is left out, and the exception leaves the loop or the finish as soon as what has begun has ended.
/// A call of it costs some nanoseconds more.
/// @code
/// tobi::stop_flag failed(rt);
/// tobi::run([stop = failed.handle()] {
///   try {
///     tobi::parallel_for(0, 1000000, 1, tobi::stoppable(stop, [](int i) {
///                          if (i == 3) throw std::runtime_error("no input");  // hardly any of the others begins
///                        }));
///   } catch (const tobi::task_error&) {
///   }
/// });
/// if (rt.rank() == 0) std::printf("%s\n", failed.stopped() ? "stopped" : "went through");  // prints stopped
/// @endcode
template <class Body>
stoppable_body<std::decay_t<Body>> stoppable(stop_handle stop, const Body& body) {
  return {stop, body};
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
