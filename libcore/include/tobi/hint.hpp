// SPDX-License-Identifier: Apache-2.0
// How much work the parts of a pattern are, for a scheduler that divides workers by it: TOBI_SCHED=adws (almost
// deterministic work stealing: Shiina and Taura, SC 2019). Under any other scheduler hints cost nothing and have no
// effect.
//
// With adws the root task has all workers. parallel_invoke(), loops and reductions divide the workers of the task that
// calls them: each part gets as many, in fractions of one, as it is of the work. A part begins at the first of its
// workers, and patterns in it divide these further; what has one worker is divided no more, and forks as usual. So a
// pattern that is repeated puts the same parts on the same workers, and finds its data in their caches. A worker that
// has ended its parts steals in the range that they were divided from, then in the next larger one, and in the end
// everywhere: libcore/sched/SCHEDULERS.md has the rule.
//
// Without hints the functions of parallel_invoke() are alike, and so are the iterations of a loop, until its executions
// have shown that some worker has much more than its share. Code that spawn(), async() or a future has begun divides
// nothing where it was taken by another worker. Where memory lies on several nodes the algorithms on spans begin at its
// owners (tobi/placement.hpp), and not so.
//
// A hint decides where a task begins, and never what it computes.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <type_traits>

#include "tobi/detail/standard.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// The work of the function that follows it among the arguments of parallel_invoke(): see hint().
struct work_hint {
  double work;
};

/// Says that the function behind it is WORK, in any unit, at least 0; one without a hint is 1. Parts without any work
/// are alike.
/// @code
/// const long both = tobi::run([] {
///   const auto [large, small] = tobi::parallel_invoke(tobi::hint(3), [] { return 30L; },  //
///                                                     tobi::hint(1), [] { return 10L; });
///   return large + small;
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", both);  // prints 40
/// @endcode
constexpr work_hint hint(double work) noexcept { return {work}; }

/// The work of a loop: see hints().
template <class Work>
struct work_hints {
  Work work;
};

/// Says that the iterations from FIRST up to LAST of a loop are work(FIRST, LAST), in any unit, at least 0. WORK is
/// copied into tasks, as bodies are, and is called a few times per worker.
/// @code
/// const long pairs = tobi::run([] {  // row i of a triangle has i elements
///   const auto work = [](long first, long last) { return 0.5 * double(first + last) * double(last - first); };
///   return tobi::parallel_reduce(tobi::hints(work), 0, 1000, 0L, [](long i) { return i; }, std::plus<>());
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", pairs);  // prints 499500
/// @endcode
template <class Work>
constexpr work_hints<std::decay_t<Work>> hints(const Work& work) {
  return {work};
}

/// What the patterns are made of: not for users.
namespace pieces {

template <class T>
inline constexpr bool is_hint = std::is_same_v<std::remove_cvref_t<T>, work_hint>;

}  // namespace pieces

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
