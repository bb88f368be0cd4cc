// SPDX-License-Identifier: Apache-2.0
// Patterns whose parts are dealt to the workers of a range (division.hpp). Not for users.
//
// A loop is divided in halves, as it is without a range: at the same indices, so that results are combined in the same
// order. Each half gets the share of the range that its work is of the whole. That goes on until a half has a share of
// one worker, and is an ordinary loop from then on. The second half goes to its worker before the first one is divided
// on: a child runs first, and leaves at once.
//
// What the work is a program says (tobi/hint.hpp), or the last executions of the same loop: how long each of its parts
// computed where it ran. A loop that took less than it costs to deal it out is not divided.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "tobi/detail/division.hpp"
#include "tobi/detail/measured_pieces.hpp"
#include "tobi/placement.hpp"
#include "tobi/task.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// Of a function without a result.
struct nothing_combined {
  std::monostate operator()(std::monostate, std::monostate) const noexcept { return {}; }
};

#ifdef TOBI_ELIDE

template <class R, class Part, class Combine>
R in_shares(std::size_t n, std::size_t, const Part& part, const Combine&) {
  return part(std::size_t{0}, n);
}
template <class R, class Work, class Part, class Combine>
R in_told_shares(const Work&, std::size_t n, std::size_t, const Part& part, const Combine&) {
  return part(std::size_t{0}, n);
}

#else

/// FIRST of a whole that has FIRST and OTHERS, which is of N parts. Where that says nothing they are alike.
constexpr double share_among(double first, double others, std::size_t n) noexcept {
  const double all = first + others;
  const bool says_something = first >= 0 && others >= 0 && all > 0 && all <= std::numeric_limits<double>::max();
  return says_something ? first / all : 1 / static_cast<double>(n + 1);
}

/// From when it is made.
class work_watch {
 public:
  work_watch() noexcept : here_(here()) { detail::tobi_division_watch(&before_); }
  /// Tells BY what the caller has computed, which has executed [LO, HI). TIMES: of so many workers.
  template <class Shares>
  void tell(const Shares& by, typename Shares::seen& all, std::size_t lo, std::size_t hi, double times) const noexcept {
    detail::watched_work now;
    detail::tobi_division_watch(&now);
    constexpr double unknown = 1e12;    // much
    const bool same = here() == here_;  // another worker has another clock
    by.took(all, lo, hi, same ? (now.ns - before_.ns) * times : unknown,
            same && now.moved_tasks == before_.moved_tasks);
  }

 private:
  int here_;
  detail::watched_work before_;
};

/// The work of a loop as its last executions showed it.
struct measured_shares {
  using seen = detail::loop_seen;
  detail::loop_loads before;
  std::size_t n;
  bool known;

  [[nodiscard]] double at(std::size_t i) const noexcept { return static_cast<double>(i) / static_cast<double>(n); }
  [[nodiscard]] double left(std::size_t lo, std::size_t middle, std::size_t hi) const noexcept {
    if (!known) return share_among(static_cast<double>(middle - lo), static_cast<double>(hi - middle), 1);
    return share_among(before.between(at(lo), at(middle)), before.between(at(middle), at(hi)), 1);
  }
  void took(seen& all, std::size_t lo, std::size_t hi, double ns, bool alone) const noexcept {
    all.loads.add(at(lo), at(hi), ns);
    all.alone = alone;
  }
};
/// The work of a loop as the program says it.
template <class Work>
struct told_shares {
  struct seen {
    void add(const seen&) noexcept {}
  };
  Work work;

  [[nodiscard]] double left(std::size_t lo, std::size_t middle, std::size_t hi) const {
    Work of = work;
    return share_among(static_cast<double>(of(lo, middle)), static_cast<double>(of(middle, hi)), 1);
  }
  void took(seen&, std::size_t, std::size_t, double, bool) const noexcept {}
};

/// What a part of a loop has come to.
template <class R, class Shares>
struct dealt {
  R value;
  typename Shares::seen seen;
};

/// CALL() with RANGE, which it divides on where that is of several workers. Thieves of the range come first. INSIDE: of
/// a part of another loop.
template <class Call>
auto with_share(const detail::division& range, nested inside, const Call& call) {
  const within_division own(range);
  const bool was = detail::tobi_division_begins(&range) != 0;
  auto result = call();
  part_ends(is_nested(inside, was));
  return result;
}

// A body that always throws leaves recursions that do not end otherwise, and GCC 12 says so.
#pragma GCC diagnostic push
#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 12
#pragma GCC diagnostic ignored "-Winfinite-recursion"
#endif

/// part(lo, hi), or its halves, combined, of which each begins in its share of RANGE. At most BLOCK indices are never
/// divided.
template <class R, class Shares, class Part, class Combine>
dealt<R, Shares> deal(const detail::division& range, std::size_t lo, std::size_t hi, std::size_t block,
                      const Shares& by, const Part& part, const Combine& combine, nested inside = nested::unknown) {
  if (!range.spans() || hi - lo <= block) {
    return with_share(range, inside, [&] {
      const work_watch watch;
      dealt<R, Shares> result{part(lo, hi), {}};
      watch.tell(by, result.seen, lo, hi, range.spans() ? range.last - range.first : 1);
      return result;
    });
  }
  const std::size_t middle = lo + (hi - lo) / 2;
  const double share = by.left(lo, middle, hi);
  const detail::division right = range.part(share, 1);
  const bool at_home = detail::tobi_division_sends(&range, &right) != 0;
  auto there = spawn([=] {
    detail::tobi_division_go(&right);
    return deal<R>(right, middle, hi, block, by, part, combine);
  });
  const detail::division left = range.part(0, share);
  if (at_home) detail::tobi_division_go(&left);  // a thief has taken this task all the same
  const dealt<R, Shares> mine = deal<R>(left, lo, middle, block, by, part, combine, inside);
  const dealt<R, Shares> theirs = there.join();
  Combine both = combine;
  dealt<R, Shares> all{both(mine.value, theirs.value), mine.seen};
  all.seen.add(theirs.seen);
  return all;
}

#pragma GCC diagnostic pop

/// deal() over [0, N) among the workers of the caller's range, from the first of them on.
template <class R, class Shares, class Part, class Combine>
dealt<R, Shares> deal_all(const detail::division& range, std::size_t n, std::size_t block, const Shares& by,
                          const Part& part, const Combine& combine) {
  const bool was = detail::tobi_division_begins(&range) != 0;  // so that nobody takes what is about to be sent away
  return deal<R>(range, 0, n, block, by, part, combine, nested_if(was));
}

/// The address is the name of a loop.
template <class Part>
inline constexpr char loop_name = 0;

/// part(lo, hi) over [0, N), which is not empty, where divides() holds. Its parts have at least BLOCK indices, and
/// begin where the last execution has shown their shares to be.
template <class R, class Part, class Combine>
[[gnu::noinline, gnu::cold]] R in_shares(std::size_t n, std::size_t block, const Part& part, const Combine& combine) {
  detail::division range;
  detail::tobi_division_get(&range);
  const within_division own(range);
  detail::tobi_division_go(&range);
  measured_shares by{{}, n, false};
  const int known = detail::tobi_division_recall(&range, &loop_name<Part>, n, &by.before);
  by.known = known > 0;
  const int here_before = here();
  const dealt<R, measured_shares> all = [&] {
    if (known >= 0) return deal_all<R>(range, n, block, by, part, combine);
    const within_division none(detail::division{});
    const work_watch watch;
    dealt<R, measured_shares> undivided{part(0, n), {}};
    watch.tell(by, undivided.seen, 0, n, 1);
    return undivided;
  }();
  // The next loop begins there, too, and finds what this one has learned.
  detail::tobi_division_go(&range);
  if (here() == here_before) detail::tobi_division_learn(&range, &loop_name<Part>, n, &all.seen);
  return all.value;
}

/// The same, where work(lo, hi) is the work of a part.
template <class R, class Work, class Part, class Combine>
[[gnu::noinline, gnu::cold]] R in_told_shares(const Work& work, std::size_t n, std::size_t block, const Part& part,
                                              const Combine& combine) {
  detail::division range;
  detail::tobi_division_get(&range);
  const within_division own(range);
  detail::tobi_division_go(&range);
  return deal_all<R>(range, n, block, told_shares<Work>{work}, part, combine).value;
}

#endif

}  // namespace pieces

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
