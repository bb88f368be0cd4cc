// SPDX-License-Identifier: Apache-2.0
// The workers that a task divides its work among: what TOBI_SCHED=adws keeps for each task, and its arithmetic. Not for
// users.
//
// Almost deterministic work stealing (Shiina and Taura, SC 2019). A task has a range of workers, in fractions of one.
// The root has all. A pattern whose parts are known when it begins (a loop, a reduction, parallel_invoke) gives each
// part as large a share of that range as it is of the work, and each part begins at the first worker of its range. So a
// pattern that is repeated meets the same workers, whatever else runs.
//
// The range is a value in the closures and on the stacks of tasks, and moves with them. What a worker keeps is that of
// the code which it runs now (tobi_current_division), for the pattern that this code begins next. A worker that enters
// a task has none, until the pattern that the task is of says what it was. Code without a range divides nothing: it
// forks as under any other scheduler.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstdint>

#include "tobi/detail/standard.hpp"

namespace tobi {
namespace detail {

/// Workers by number: a node's workers have numbers in a row. Those from FIRST up to LAST, in fractions of one.
struct division {
  /// Whole workers, from number FIRST up to LAST.
  struct group {
    std::uint32_t first;
    std::uint32_t last;
  };
  /// How many of the enclosing ranges a task keeps: the innermost ones.
  static constexpr std::uint32_t most_groups = 6;
  /// What is narrower belongs to one worker, even where it lies across two.
  static constexpr double narrow = 0.125;

  double first = 0;
  double last = 0;
  std::uint32_t groups = 0;
  group around[most_groups] = {};

  /// The whole workers that have a share.
  [[nodiscard]] constexpr group workers() const noexcept {
    const auto low = static_cast<std::uint32_t>(first);
    const auto high = static_cast<std::uint32_t>(last);
    return {low, high + (static_cast<double>(high) < last ? 1U : 0U)};
  }
  /// Whether it is of more workers than one.
  [[nodiscard]] constexpr bool spans() const noexcept {
    const group all = workers();
    return last - first > narrow && all.last - all.first > 1;
  }
  /// The number of the worker where a task with this range begins.
  [[nodiscard]] constexpr std::uint32_t begins_at() const noexcept {
    return static_cast<std::uint32_t>(spans() ? first : (first + last) / 2);
  }
  /// The part of it between two fractions of it. It spans several workers.
  [[nodiscard]] constexpr division part(double from, double to) const noexcept {
    division inner;
    inner.first = first + (last - first) * from;
    inner.last = to >= 1 ? last : first + (last - first) * to;
    const group own = workers();
    const bool same = groups != 0 && around[0].first == own.first && around[0].last == own.last;
    if (!same) inner.around[inner.groups++] = own;
    for (std::uint32_t i = 0; i < groups && inner.groups < most_groups; ++i) {
      inner.around[inner.groups++] = around[i];
    }
    return inner;
  }
};

/// How long each 32nd of a loop has computed, in nanoseconds.
struct loop_loads {
  static constexpr std::size_t shares = 32;
  float ns[shares] = {};

  [[nodiscard]] constexpr double total() const noexcept {
    double sum = 0;
    for (const float each : ns) sum += static_cast<double>(each);
    return sum;
  }
  /// What lies between two fractions of the loop, if a share is alike throughout.
  [[nodiscard]] constexpr double between(double from, double to) const noexcept {
    double sum = 0;
    each_share(from, to, [&](std::size_t i, double part) { sum += static_cast<double>(ns[i]) * part; });
    return sum;
  }
  /// LOAD was measured between two fractions of it.
  constexpr void add(double from, double to, double load) noexcept {
    const double width = (to - from) * static_cast<double>(shares);
    each_share(from, to, [&](std::size_t i, double part) { ns[i] += static_cast<float>(load * part / width); });
  }
  constexpr void add(const loop_loads& other) noexcept {
    for (std::size_t i = 0; i < shares; ++i) ns[i] += other.ns[i];
  }
  /// The same load in each share.
  [[nodiscard]] static constexpr loop_loads even(double total) noexcept {
    loop_loads all;
    for (float& each : all.ns) each = static_cast<float>(total / static_cast<double>(shares));
    return all;
  }
  /// Shares as these are to each other, of a loop that takes SUM.
  [[nodiscard]] constexpr loop_loads scaled_to(double sum) const noexcept {
    const double times = sum / total();
    loop_loads all;
    for (std::size_t i = 0; i < shares; ++i) all.ns[i] = static_cast<float>(static_cast<double>(ns[i]) * times);
    return all;
  }
  /// A loop was divided in N parts that are alike by these. Returns how much the largest of them is by what it TOOK: 1
  /// where all are alike by that, too. Both are above 0.
  [[nodiscard]] constexpr double largest_part(const loop_loads& took, std::size_t n) const noexcept {
    const double part = total() / static_cast<double>(n);
    double most = 0, load = 0, room = part;
    for (std::size_t i = 0; i < shares; ++i) {
      const auto own = static_cast<double>(ns[i]), theirs = static_cast<double>(took.ns[i]);
      double left = own;
      while (left > room) {
        load += theirs * room / own;
        most = load > most ? load : most;
        left -= room;
        load = 0;
        room = part;
      }
      load += own > 0 ? theirs * left / own : theirs;
      room -= left;
    }
    most = load > most ? load : most;
    return most / took.total() * static_cast<double>(n);
  }

 private:
  // call(i, part) for each share of which a part lies there, which is of the share's own width.
  template <class Call>
  static constexpr void each_share(double from, double to, const Call& call) {
    const double scale = static_cast<double>(shares), end = to * scale;
    for (double at = from * scale; at < end;) {
      const auto i = static_cast<std::size_t>(at) < shares ? static_cast<std::size_t>(at) : shares - 1;
      const double next = static_cast<double>(i + 1) < end && i + 1 < shares ? static_cast<double>(i + 1) : end;
      call(i, next - at);
      at = next;
    }
  }
};

/// What an execution of a loop shows.
struct loop_seen {
  loop_loads loads;
  /// Each part did its own work, and nothing else.
  bool alone = true;

  constexpr void add(const loop_seen& other) noexcept {
    loads.add(other.loads);
    alone = alone && other.alone;
  }
};

/// What a worker has computed: in nanoseconds, without what the kernel gave to others; and how many tasks have come to
/// it or were taken away. The difference of two is the work of what lies between, if there was no such task.
struct watched_work {
  double ns;
  std::uint64_t moved_tasks;
};

#ifndef TOBI_ELIDE

extern "C" {
/// Of the code that this worker runs: not 0 where it has a range that spans several workers. For this thread alone.
extern std::uint32_t tobi_divides;
/// The range of the code that this worker runs.
void tobi_division_get(division* range) noexcept;
/// From now on it is RANGE; or none, where that is of one worker.
void tobi_division_set(const division* range) noexcept;
/// The caller, which has RANGE, forks next a task that goes where THERE begins, at once. Where that is elsewhere no
/// thief is to take the caller between the fork and the child's leave, for its own work begins here. Returns whether
/// RANGE begins here.
int tobi_division_sends(const division* range, const division* there) noexcept;
/// The caller goes on where a task with RANGE begins, if it can.
void tobi_division_go(const division* range);
/// What this worker runs has RANGE from now on: it is of one worker, or is about to be dealt out. Returns what
/// tobi_part_begins() does, and tobi_part_ends() ends it.
int tobi_division_begins(const division* range) noexcept;
/// What this worker has computed.
void tobi_division_watch(watched_work* now) noexcept;
/// How a loop of N indices, whose name is LOOP, was loaded when this worker began it the last time. Returns 0 where it
/// is not known, and -1 where it is not worth dividing among the workers of RANGE.
int tobi_division_recall(const division* range, const void* loop, std::size_t n, loop_loads* loads) noexcept;
/// It has been executed.
void tobi_division_learn(const division* range, const void* loop, std::size_t n, const loop_seen* seen) noexcept;
}

#endif

}  // namespace detail

#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// While it lives the caller's code has RANGE. A pattern that may go on elsewhere puts back what it has found: on the
/// worker where that is.
class within_division {
 public:
#ifdef TOBI_ELIDE
  explicit within_division(const detail::division&) noexcept {}
#else
  explicit within_division(const detail::division& range) noexcept {
    detail::tobi_division_get(&before_);
    detail::tobi_division_set(&range);
  }
  ~within_division() { detail::tobi_division_set(&before_); }
  within_division(const within_division&) = delete;
  within_division& operator=(const within_division&) = delete;

 private:
  detail::division before_;
#endif
};

/// Whether the caller's code has several workers to divide its work among.
inline bool divides() noexcept {
#ifdef TOBI_ELIDE
  return false;
#else
  return detail::tobi_divides != 0;
#endif
}

}  // namespace pieces

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
