// SPDX-License-Identifier: Apache-2.0
// Algorithms that order elements, or find one by its order: merge, sort, min_element, partition, shuffle.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "ityr/loop.hpp"
#include "ityr/reduce.hpp"

namespace ityr {
namespace internal {

/// How many elements a task has checked out at once.
template <class Policy, class Iterator>
std::size_t leaf_here(const Policy& how, Iterator) {
  const std::size_t fit =
      std::max<std::size_t>(tobi::global_calls::chunk_bytes() / sizeof(typename Iterator::value_type) / 2, 1);
  return is_parallel<Policy> ? std::min(leaf_of(how), fit) : fit;
}
/// Two functions, in parallel where HOW says so.
template <class Policy, class F, class G>
void both(const Policy&, F f, G g) {
  if constexpr (is_parallel<Policy>) {
    auto left = fork(std::move(f));
    g();
    left.join();
  } else {
    f();
    g();
  }
}
/// Of COUNT elements from FIRST on, in order, how many come before the one at X: those that IS_BEFORE(element, x).
template <class Iterator, class Other, class Before>
std::size_t count_before(Iterator first, std::size_t count, Other x, Before is_before) {
  std::size_t from = 0;
  while (count != 0) {
    const std::size_t half = count / 2;
    const bool goes_on = held(
        1, [&](auto e, auto y) { return is_before(std::as_const(*e), std::as_const(*y)); }, after(first, from + half),
        x);
    if (goes_on) {
      from += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return from;
}

/// Where two ranges in order, one behind the other in what they become, are divided.
struct cut {
  std::size_t first;
  std::size_t second;
};
template <class A, class B, class Compare>
cut cut_of(A a, std::size_t n, B b, std::size_t m, Compare before) {
  const auto not_behind = [before](const auto& e, const auto& x) { return !before(x, e); };
  if (n >= m) return {n / 2, count_before(b, m, after(a, n / 2), before)};
  return {count_before(a, n, after(b, m / 2), not_behind), m / 2};
}

template <class Policy, class A, class B, class To, class Compare>
void merge(const Policy& how, A a, std::size_t n, B b, std::size_t m, To to, Compare before) {
  if (n + m <= std::max<std::size_t>(leaf_here(how, to), 2)) {
    auto as = hold(a, n);
    auto bs = hold(b, m);
    auto out = hold(to, n + m);
    ori::checkout_complete();
    std::merge(as.second, after(as.second, n), bs.second, after(bs.second, m), out.second, before);
    return;
  }
  const cut at = cut_of(a, n, b, m, before);
  both(
      how, [=] { merge(how, a, at.first, b, at.second, to, before); },
      [=] {
        merge(how, after(a, at.first), n - at.first, after(b, at.second), m - at.second,
              after(to, at.first + at.second), before);
      });
}

template <class Policy, class Iterator, class Compare>
void merge_in_place(const Policy& how, Iterator first, std::size_t n, std::size_t m, Compare before) {
  if (n == 0 || m == 0) return;
  if (n + m <= leaf_here(how, first) || n + m <= 2) {
    held(
        n + m, [&](auto at) { std::inplace_merge(at, after(at, n), after(at, n + m), before); }, first);
    return;
  }
  const cut at = cut_of(first, n, after(first, n), m, before);
  rotate(how, after(first, at.first), after(first, n), after(first, n + at.second));
  both(
      how, [=] { merge_in_place(how, first, at.first, at.second, before); },
      [=] { merge_in_place(how, after(first, at.first + at.second), n - at.first, m - at.second, before); });
}

/// By halves that are merged in place: for elements of any type.
template <class Policy, class Iterator, class Compare>
void sort_in_place(const Policy& how, Iterator first, std::size_t count, Compare before) {
  if (count < 2) return;
  if (count <= leaf_here(how, first)) {
    held(
        count, [&](auto at) { std::stable_sort(at, after(at, count), before); }, first);
    return;
  }
  const std::size_t half = count / 2;
  both(
      how, [=] { sort_in_place(how, first, half, before); },
      [=] { sort_in_place(how, after(first, half), count - half, before); });
  merge_in_place(how, first, half, count - half, before);
}

template <class T>
tobi::global_span<T> plain_span(ori::global_ptr<T> first, std::size_t count) {
  return {tobi::global_ptr<T>(first.raw_ptr()), count};
}

/// The best of COUNT elements, at least 1: REPLACES(best, x) says that x is better.
template <class Policy, class Iterator, class Replaces>
std::size_t best(const Policy& how, std::size_t count, Iterator first, Replaces replaces) {
  const auto better = [=](std::size_t i, std::size_t k) {
    return held(
               1, [&](auto x, auto y) { return replaces(std::as_const(*x), std::as_const(*y)); }, after(first, i),
               after(first, k))
               ? k
               : i;
  };
  if (count > leaf_here(how, first)) {
    const std::size_t half = count / 2;
    const auto right = [=] { return half + best(how, count - half, after(first, half), replaces); };
    if constexpr (is_parallel<Policy>) {
      auto left = fork([=] { return best(how, half, first, replaces); });
      const std::size_t other = right();
      return better(left.join(), other);
    } else {
      return better(best(how, half, first, replaces), right());
    }
  }
  return held(
      count,
      [&](auto at) {
        std::size_t found = 0;
        for (std::size_t i = 1; i < count; ++i) {
          if (replaces(std::as_const(*after(at, found)), std::as_const(*after(at, i)))) found = i;
        }
        return found;
      },
      first);
}

template <class Policy, class Iterator, class Predicate>
std::size_t partition_by(const Policy& how, Iterator first, std::size_t count, Predicate pred) {
  if (count == 0) return 0;
  if (count <= leaf_here(how, first)) {
    return held(
        count, [&](auto at) { return length(at, std::stable_partition(at, after(at, count), pred)); }, first);
  }
  const std::size_t half = count / 2;
  const auto right = [=] { return partition_by(how, after(first, half), count - half, pred); };
  std::size_t of_left = 0;
  std::size_t of_right = 0;
  if constexpr (is_parallel<Policy>) {
    auto left = fork([=] { return partition_by(how, first, half, pred); });
    of_right = right();
    of_left = left.join();
  } else {
    of_left = partition_by(how, first, half, pred);
    of_right = right();
  }
  rotate(how, after(first, of_left), after(first, half), after(first, half + of_right));
  return of_left + of_right;
}

}  // namespace internal

/// Merges two ranges that are in order, and returns the end of what was written. Of equal elements those of the first
/// range come first.
template <class Policy, class First, class Second, class To, class Compare = std::less<>>
To merge(const Policy& how, First first1, First last1, Second first2, Second last2, To to, Compare before = {}) {
  using out = typename std::iterator_traits<To>::value_type;
  const std::size_t n = internal::length(first1, last1);
  const std::size_t m = internal::length(first2, last2);
  internal::merge(how, internal::with_mode<checkout_mode::read_t>(first1), n,
                  internal::with_mode<checkout_mode::read_t>(first2), m,
                  internal::with_mode<internal::target_mode<out>>(to), before);
  return internal::after(to, n + m);
}
/// Merges two ranges that are in order and next to each other.
template <class Policy, class First, class Compare = std::less<>>
void inplace_merge(const Policy& how, First first, First middle, First last, Compare before = {}) {
  internal::merge_in_place(how, internal::with_mode<checkout_mode::read_write_t>(first),
                           internal::length(first, middle), internal::length(middle, last), before);
}
/// Puts elements in order; equal ones keep theirs.
template <class Policy, class First, class Compare = std::less<>>
void stable_sort(const Policy& how, First first, First last, Compare before = {}) {
  internal::sort_in_place(how, internal::with_mode<checkout_mode::read_write_t>(first), internal::length(first, last),
                          before);
}
/// Puts elements in order.
template <class Policy, class First, class Compare = std::less<>>
void sort(const Policy& how, First first, First last, Compare before = {}) {
  using T = typename std::iterator_traits<First>::value_type;
  if constexpr (tobi::detail::travels<T> && tobi::detail::travels<Compare> && internal::is_parallel<Policy>) {
    tobi::sort(internal::plain_span(static_cast<ori::global_ptr<T>>(first), internal::length(first, last)), before);
  } else {
    stable_sort(how, first, last, before);
  }
}

/// Returns the first of the least elements; LAST where there are none.
template <class Policy, class First, class Compare = std::less<>>
First min_element(const Policy& how, First first, First last, Compare before = {}) {
  const std::size_t count = internal::length(first, last);
  if (count == 0) return last;
  return internal::after(first, internal::best(how, count, internal::with_mode<checkout_mode::read_t>(first),
                                               [before](const auto& x, const auto& y) { return before(y, x); }));
}
/// Returns the first of the greatest elements; LAST where there are none.
template <class Policy, class First, class Compare = std::less<>>
First max_element(const Policy& how, First first, First last, Compare before = {}) {
  const std::size_t count = internal::length(first, last);
  if (count == 0) return last;
  return internal::after(first, internal::best(how, count, internal::with_mode<checkout_mode::read_t>(first),
                                               [before](const auto& x, const auto& y) { return before(x, y); }));
}
/// Returns the first of the least and the last of the greatest elements; FIRST twice where there are none.
template <class Policy, class First, class Compare = std::less<>>
std::pair<First, First> minmax_element(const Policy& how, First first, First last, Compare before = {}) {
  const std::size_t count = internal::length(first, last);
  if (count == 0) return {first, first};
  const std::size_t most = internal::best(how, count, internal::with_mode<checkout_mode::read_t>(first),
                                          [before](const auto& x, const auto& y) { return !before(y, x); });
  return {min_element(how, first, last, before), internal::after(first, most)};
}

/// Brings the elements for which PRED is true before the others, and returns the first of the others. All keep their
/// order.
template <class Policy, class First, class Predicate>
First stable_partition(const Policy& how, First first, First last, Predicate pred) {
  return internal::after(first, internal::partition_by(how, internal::with_mode<checkout_mode::read_write_t>(first),
                                                       internal::length(first, last), pred));
}
template <class Policy, class First, class Predicate>
First partition(const Policy& how, First first, First last, Predicate pred) {
  return stable_partition(how, first, last, pred);
}

/// A generator that can be split into two independent ones (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
class default_random_engine {
 public:
  using result_type = std::uint64_t;
  explicit default_random_engine(std::uint64_t seed = 1) noexcept : default_random_engine(seed, golden) {}
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }
  result_type operator()() noexcept { return mixed(state_ += step_, 30, 0xbf58476d1ce4e5b9u, 27, 0x94d049bb133111ebu); }
  [[nodiscard]] default_random_engine split() noexcept {
    const std::uint64_t state = (*this)();
    const std::uint64_t step = mixed(state_ += step_, 33, 0xff51afd7ed558ccdu, 33, 0xc4ceb9fe1a85ec53u) | 1;
    return {state, step};
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  default_random_engine(std::uint64_t state, std::uint64_t step) noexcept : state_(state), step_(step) {}
  static std::uint64_t mixed(std::uint64_t x, int a, std::uint64_t m, int b, std::uint64_t n) noexcept {
    x = (x ^ (x >> a)) * m;
    x = (x ^ (x >> b)) * n;
    return x ^ (x >> 31);
  }
  std::uint64_t state_;
  std::uint64_t step_;
};

namespace internal {

/// Each element goes to one of two sides by chance; returns how many go to the left.
template <class Policy, class Iterator, class Random>
std::size_t random_sides(const Policy& how, Iterator first, std::size_t count, Random& chance) {
  if (count <= leaf_here(how, first)) {
    return held(
        count,
        [&](auto at) {
          return length(at,
                        std::stable_partition(at, after(at, count), [&](const auto&) { return chance() % 2 == 0; }));
        },
        first);
  }
  const std::size_t half = count / 2;
  auto of_left = chance.split();
  auto of_right = chance.split();
  auto left = fork([=]() mutable { return random_sides(how, first, half, of_left); });
  const std::size_t more = random_sides(how, after(first, half), count - half, of_right);
  const std::size_t some = left.join();
  rotate(how, after(first, some), after(first, half), after(first, half + more));
  return some + more;
}

template <class Policy, class Iterator, class Random>
void shuffle_parts(const Policy& how, Iterator first, std::size_t count, Random& chance) {
  if (count < 2) return;
  if (count <= leaf_here(how, first)) {
    held(
        count, [&](auto at) { std::shuffle(at, after(at, count), chance); }, first);
    return;
  }
  const std::size_t left = random_sides(how, first, count, chance);
  auto of_left = chance.split();
  auto of_right = chance.split();
  auto child = fork([=]() mutable { shuffle_parts(how, first, left, of_left); });
  shuffle_parts(how, after(first, left), count - left, of_right);
  child.join();
}

}  // namespace internal

/// Brings elements into an order by chance. In parallel RANDOM has split(), and the order depends on it and on HOW
/// alone.
template <class Policy, class First, class Random>
void shuffle(const Policy& how, First first, First last, Random&& random) {
  const auto at = internal::with_mode<checkout_mode::read_write_t>(first);
  const std::size_t count = internal::length(first, last);
  if constexpr (internal::is_parallel<Policy>) {
    internal::shuffle_parts(how, at, count, random);
  } else {
    // From the last place on, each gets one of those up to it.
    for (std::size_t i = count; i > 1; --i) {
      const std::size_t k = static_cast<std::size_t>(random() % i);
      if (k + 1 == i) continue;
      internal::held(
          1, [](auto x, auto y) { std::swap(*x, *y); }, internal::after(at, k), internal::after(at, i - 1));
    }
  }
}

}  // namespace ityr
