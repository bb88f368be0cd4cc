// SPDX-License-Identifier: Apache-2.0
// Loops without a grain: how large a task should be is measured. Not for users.
//
// A range is split in halves down to single blocks where nothing is known, and the first block is timed. A task returns
// what an index took in it, so what follows is split into pieces of some 5 us (a fork takes nanoseconds, a steal within
// a node about 1 us). The pieces double along the way back up: 1, 1, 2, 4, 8 indices. A thief of a half of which
// nothing is known does the same there. So no index is ever waited for: what follows the first one can be stolen while
// it runs. A piece that takes much longer than foreseen is split at its next quarter, and not before: where many
// indices that cost nothing come before some that cost much, a program names a grain.
//
// Only the forks depend on what was measured. The tree by which results are combined depends on the number of indices
// alone, so a sum of floating-point numbers is the same in every run, on any number of workers.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <type_traits>
#include <variant>

#include "tobi/task.hpp"

namespace tobi {

#ifndef TOBI_ELIDE
namespace detail {
extern "C" {
/// Whether it is continuations that are stolen, and most stay, so that a child has ended when its fork returns.
int tobi_child_runs_first() noexcept;
}
}  // namespace detail
#endif

#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// How many indices [BEGIN, END) has, which is not empty.
template <class Index>
constexpr std::size_t distance(Index begin, Index end) noexcept {
  return static_cast<std::size_t>(end) - static_cast<std::size_t>(begin);
}
/// The index N places behind BEGIN.
template <class Index>
constexpr Index advanced(Index begin, std::size_t n) noexcept {
  return static_cast<Index>(static_cast<std::size_t>(begin) + n);
}

/// A body that takes one index is called for each, one that takes two for the whole range.
template <class Index, class Body>
void for_each_index(Index begin, Index end, Body& body) {
  if constexpr (std::is_invocable_v<Body&, Index>) {
    for (Index i = begin; i < end; ++i) body(i);
  } else {
    body(begin, end);
  }
}

/// A loop's work, as in_measured_tasks() wants it.
template <class Body>
struct loop_work {
  using value_type = std::monostate;
  [[no_unique_address]] Body body;

  template <class Index>
  std::monostate serially(Index begin, Index end, std::size_t) {
    for_each_index(begin, end, body);
    return {};
  }
  static std::monostate combine(std::monostate, std::monostate) noexcept { return {}; }
};

#ifdef TOBI_ELIDE

template <class Index, class Work>
typename Work::value_type in_measured_tasks(Index begin, Index end, std::size_t block, const Work& work) {
  Work mine = work;
  return mine.serially(begin, end, block);
}

#else

/// What a part of the work was, and how many nanoseconds an index took at its end.
template <class R>
struct measured {
  [[no_unique_address]] R value;
  double pace;
};

/// Of a piece, in nanoseconds.
inline constexpr double piece_ns = 5000;

class stopwatch {
 public:
  [[nodiscard]] double ns() const noexcept {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin_).count();
  }
  /// Per index, after N of them; never 0, which is the pace of which nothing is known.
  [[nodiscard]] double pace(std::size_t n) const noexcept { return std::max(ns() / static_cast<double>(n), 1e-3); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// A body that always throws leaves recursions that do not end otherwise, and GCC 12 says so.
#pragma GCC diagnostic push
#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 12
#pragma GCC diagnostic ignored "-Winfinite-recursion"
#endif

template <class Index, class Work>
measured<typename Work::value_type> split(Index begin, Index end, std::size_t block, double pace, const Work& work);

/// A piece, by halves down to LEVELS below it. What is left is split anew when it has taken twice its time. The pace is
/// 0 where that was not so. Otherwise WATCH may be of another machine by now, and is not looked at again.
template <class Index, class Work>
measured<typename Work::value_type> watched(Index begin, Index end, std::size_t block, int levels,
                                            const stopwatch& watch, std::size_t done, Work& work) {
  using result = measured<typename Work::value_type>;
  const std::size_t n = distance(begin, end);
  if (n <= block || levels == 0) return result{work.serially(begin, end, block), 0};
  const Index middle = advanced(begin, n / 2);
  const result left = watched(begin, middle, block, levels - 1, watch, done, work);
  done += n / 2;
  if (left.pace == 0 && watch.ns() < 2 * piece_ns) {
    const result right = watched(middle, end, block, levels - 1, watch, done, work);
    return result{work.combine(left.value, right.value), right.pace};
  }
  const result right = split(middle, end, block, left.pace != 0 ? left.pace : watch.pace(done), work);
  return result{work.combine(left.value, right.value), right.pace};
}

/// WORK over [BEGIN, END), which is not empty. PACE is what an index takes, or 0.
template <class Index, class Work>
measured<typename Work::value_type> split(Index begin, Index end, std::size_t block, double pace, const Work& work) {
  using result = measured<typename Work::value_type>;
  const std::size_t n = distance(begin, end);
  if (n <= block || (pace > 0 && static_cast<double>(n) * pace <= piece_ns)) {
    Work mine = work;
    const stopwatch watch;
    const result all = watched(begin, end, block, 2, watch, 0, mine);
    return all.pace != 0 ? all : result{all.value, watch.pace(n)};
  }
  Work mine = work;  // for combine()
  const Index middle = advanced(begin, n / 2);
  auto child = spawn([=] { return split(begin, middle, block, pace, work); });
  if (child.done()) {
    const result left = child.join();
    const result right = split(middle, end, block, left.pace, work);
    return result{mine.combine(left.value, right.value), right.pace};
  }
  const result right = split(middle, end, block, pace, work);
  const result left = child.join();
  return result{mine.combine(left.value, right.value), right.pace};
}

#pragma GCC diagnostic pop

/// WORK over [BEGIN, END), which is not empty, in tasks that are as large as is worth a fork. BLOCK indices, at least
/// 1, are never split, and results are combined by halves down to these.
template <class Index, class Work>
typename Work::value_type in_measured_tasks(Index begin, Index end, std::size_t block, const Work& work) {
  // Where the child runs later, or no continuation stays, nothing is known after a fork. A guess is made: 256 pieces,
  // which split when they are long.
  constexpr double guessed_pieces = 256;
  const double guess =
      detail::tobi_child_runs_first() != 0 ? 0 : piece_ns * guessed_pieces / static_cast<double>(distance(begin, end));
  return split(begin, end, block, guess, work).value;
}

#endif

}  // namespace pieces

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
