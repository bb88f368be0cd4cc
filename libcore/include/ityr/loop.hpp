// SPDX-License-Identifier: Apache-2.0
// Loops over ranges: for_each, transform, fill, copy, move, and what changes their order by places.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "ityr/execution.hpp"
#include "ityr/iterator.hpp"
#include "ityr/task.hpp"

namespace ityr {
namespace internal {

/// F(first, others...) for each of COUNT elements, CHUNK of which are checked out at a time.
template <class F, class First, class... Others>
void serial_loop(std::size_t chunk, std::size_t count, F&& f, First first, Others... others) {
  if constexpr (!(checks_out<First> || (checks_out<Others> || ...))) {
    for (; count != 0; --count) {
      f(*first, *others...);
      ++first;
      (static_cast<void>(++others), ...);
    }
  } else {
    while (count != 0) {
      const std::size_t n = std::min(chunk, count);
      held(
          n,
          [&](auto at, auto... more) {
            for (std::size_t i = 0; i < n; ++i) {
              f(*at, *more...);
              ++at;
              (static_cast<void>(++more), ...);
            }
          },
          first, others...);
      first = after(first, n);
      ((others = after(others, n)), ...);
      count -= n;
    }
  }
}

/// Where part number PART of PARTS begins in a range of COUNT elements.
constexpr std::size_t begin_of_part(std::size_t part, std::size_t parts, std::size_t count) noexcept {
  return count / parts * part + count % parts * part / parts;
}

/// The work of a loop over COUNT elements, as SUMS of a workhint_range say it. A range with another number of elements
/// is stretched.
struct told_work {
  const double* sums;  // in global memory
  std::size_t count;

  double operator()(std::size_t lo, std::size_t hi) const { return up_to(hi) - up_to(lo); }

 private:
  [[nodiscard]] double up_to(std::size_t i) const {
    const ori::global_ptr<const double> of(sums);
    const double parts = of[0];
    const double place = static_cast<double>(i) / static_cast<double>(count) * parts;
    const auto whole = static_cast<std::ptrdiff_t>(std::min(place, parts));
    const double before = of[1 + whole];
    if (whole == static_cast<std::ptrdiff_t>(parts)) return before;
    return before + (place - static_cast<double>(whole)) * (of[2 + whole].get() - before);
  }
};

/// part(lo, hi) of [0, COUNT) among the workers of the caller, where those are divided.
template <class R, class Policy, class Part, class Combine>
R among_workers(const Policy& how, std::size_t count, const Part& part, const Combine& combine) {
  if (const double* const sums = sums_of(how); sums != nullptr) {
    return tobi::pieces::in_told_shares<R>(told_work{sums, count}, count, leaf_of(how), part, combine);
  }
  return tobi::pieces::in_shares<R>(count, leaf_of(how), part, combine);
}

/// The same as HOW says: in parallel by halves, down to its cutoff.
template <class Policy, class F, class First, class... Others>
void loop(const Policy& how, std::size_t count, F f, First first, Others... others) {
  if (count <= leaf_of(how)) return serial_loop(chunk_of(how), count, f, first, others...);
  if constexpr (tobi::detail::travels<std::tuple<F, First, Others...>>) {
    if (tobi::pieces::divides()) {
      const auto part = [=, own = of_a_part(how)](std::size_t from, std::size_t to) {
        loop(own, to - from, f, after(first, from), after(others, from)...);
        return std::monostate();
      };
      among_workers<std::monostate>(how, count, part, tobi::pieces::nothing_combined{});
      return;
    }
  }
  const std::size_t half = count / 2;
  auto left = fork([=]() mutable { loop(how, half, f, first, others...); });
  loop(how, count - half, f, after(first, half), after(others, half)...);
  left.join();
}

}  // namespace internal

/// Calls F(x) for each element, or F(x, y), F(x, y, z) for those of several ranges.
template <class Policy, class First, class F>
void for_each(const Policy& how, First first, First last, F f) {
  internal::loop(how, internal::length(first, last), f, first);
}
template <class Policy, class First, class Second, class F>
void for_each(const Policy& how, First first, First last, Second second, F f) {
  internal::loop(how, internal::length(first, last), f, first, second);
}
template <class Policy, class First, class Second, class Third, class F>
void for_each(const Policy& how, First first, First last, Second second, Third third, F f) {
  internal::loop(how, internal::length(first, last), f, first, second, third);
}

/// Writes F(x), and returns the end of what was written.
template <class Policy, class First, class To, class F>
To transform(const Policy& how, First first, First last, To to, F f) {
  using out = typename std::iterator_traits<To>::value_type;
  const std::size_t count = internal::length(first, last);
  internal::loop(
      how, count, [f](auto&& x, auto&& y) mutable { y = f(std::forward<decltype(x)>(x)); },
      internal::with_mode<checkout_mode::read_t>(first), internal::with_mode<internal::target_mode<out>>(to));
  return internal::after(to, count);
}
/// Writes F(x, y), and returns the end of what was written.
template <class Policy, class First, class Second, class To, class F>
To transform(const Policy& how, First first, First last, Second second, To to, F f) {
  using out = typename std::iterator_traits<To>::value_type;
  const std::size_t count = internal::length(first, last);
  internal::loop(
      how, count,
      [f](auto&& x, auto&& y, auto&& z) mutable { z = f(std::forward<decltype(x)>(x), std::forward<decltype(y)>(y)); },
      internal::with_mode<checkout_mode::read_t>(first), internal::with_mode<checkout_mode::read_t>(second),
      internal::with_mode<internal::target_mode<out>>(to));
  return internal::after(to, count);
}

/// Writes VALUE to each element.
template <class Policy, class First, class T>
void fill(const Policy& how, First first, First last, const T& value) {
  using out = typename std::iterator_traits<First>::value_type;
  internal::loop(
      how, internal::length(first, last), [value](auto&& x) { x = value; },
      internal::with_mode<internal::target_mode<out>>(first));
}

/// Copies, and returns the end of what was written.
template <class Policy, class First, class To>
To copy(const Policy& how, First first, First last, To to) {
  return transform(
      how, first, last, to, [](const auto& x) -> const auto& { return x; });
}

/// Moves, and returns the end of what was written.
template <class Policy, class First, class To>
To move(const Policy& how, First first, First last, To to) {
  using out = typename std::iterator_traits<To>::value_type;
  const std::size_t count = internal::length(first, last);
  const auto go = [&](auto from) {
    internal::loop(
        how, count, [](auto&& x, auto&& y) { y = std::move(x); }, from,
        internal::with_mode<internal::target_mode<out>>(to));
  };
  if constexpr (ori::is_global_ptr_v<First>) {
    go(make_move_iterator(first));
  } else {
    go(first);
  }
  return internal::after(to, count);
}

namespace internal {
/// Exchanges the COUNT elements from FIRST on with those before LAST, which are others.
template <class Policy, class T>
void swap_reversed(const Policy& how, std::size_t count, ori::global_ptr<T> first, ori::global_ptr<T> last) {
  loop(
      how, count, [](auto&& x, auto&& y) { std::swap(x, y); }, make_global_iterator(first, checkout_mode::read_write),
      make_reverse_iterator(last, checkout_mode::read_write));
}
}  // namespace internal

/// The last element becomes the first.
template <class Policy, class T>
void reverse(const Policy& how, ori::global_ptr<T> first, ori::global_ptr<T> last) {
  internal::swap_reversed(how, internal::length(first, last) / 2, first, last);
}
template <class Policy, class T, class Mode>
void reverse(const Policy& how, global_iterator<T, Mode> first, global_iterator<T, Mode> last) {
  reverse(how, static_cast<ori::global_ptr<T>>(first), static_cast<ori::global_ptr<T>>(last));
}
/// The same to another place. Returns the end of what was written.
template <class Policy, class T, class To>
To reverse_copy(const Policy& how, ori::global_ptr<T> first, ori::global_ptr<T> last, To to) {
  const auto mode = checkout_mode::read;
  return copy(how, make_reverse_iterator(last, mode), make_reverse_iterator(first, mode), to);
}
template <class Policy, class T, class Mode, class To>
To reverse_copy(const Policy& how, global_iterator<T, Mode> first, global_iterator<T, Mode> last, To to) {
  return reverse_copy(how, static_cast<ori::global_ptr<T>>(first), static_cast<ori::global_ptr<T>>(last), to);
}

/// MIDDLE becomes the first element. Returns where the one goes that was the first.
template <class Policy, class T>
ori::global_ptr<T> rotate(const Policy& how, ori::global_ptr<T> first, ori::global_ptr<T> middle,
                          ori::global_ptr<T> last) {
  if (first == middle) return last;
  if (middle == last) return first;
  reverse(how, first, middle);
  reverse(how, middle, last);
  reverse(how, first, last);
  return first + (last - middle);
}
template <class Policy, class T, class Mode>
global_iterator<T, Mode> rotate(const Policy& how, global_iterator<T, Mode> first, global_iterator<T, Mode> middle,
                                global_iterator<T, Mode> last) {
  using p = ori::global_ptr<T>;
  return {rotate(how, static_cast<p>(first), static_cast<p>(middle), static_cast<p>(last)), Mode{}};
}
/// The same to another place. Returns the end of what was written.
template <class Policy, class First, class To>
To rotate_copy(const Policy& how, First first, First middle, First last, To to) {
  return copy(how, first, middle, copy(how, middle, last, to));
}

}  // namespace ityr
