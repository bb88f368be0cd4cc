// SPDX-License-Identifier: Apache-2.0
// Reductions and sums of what is before.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ityr/loop.hpp"
#include "ityr/reducer.hpp"

namespace ityr {
namespace internal {

template <class T>
concept a_reducer = requires {
  typename T::accumulator_type;
};
template <class Reducer>
using accumulator_of = typename Reducer::accumulator_type;
/// An empty accumulator.
template <class Reducer>
accumulator_of<Reducer> identity_of(const Reducer& r) {
  if constexpr (requires { r.identity(); } && !std::is_invocable_v<const Reducer&>) {
    return r.identity();
  } else {
    return r();
  }
}

/// A value and a binary operation as a reducer. The value is taken once, by the caller.
template <class T, class Op>
struct operation {
  using accumulator_type = T;
  Op op;
  void combine(T& left, const T& right) const { left = op(left, right); }
};

/// ADD(acc, x, others...) for each of COUNT elements, from an empty accumulator on.
template <class Policy, class Reducer, class Add, class First, class... Others>
accumulator_of<Reducer> reduce_by(const Policy& how, std::size_t count, const Reducer& reducer, const Add& add,
                                  First first, Others... others) {
  if (count <= leaf_of(how)) {
    auto acc = identity_of(reducer);
    serial_loop(
        chunk_of(how), count, [&](auto&&... x) { add(reducer, acc, std::forward<decltype(x)>(x)...); }, first,
        others...);
    return acc;
  }
  using result = accumulator_of<Reducer>;
  if constexpr (tobi::detail::travels<std::tuple<result, Reducer, Add, First, Others...>>) {
    if (tobi::pieces::divides()) {
      const auto part = [=, own = of_a_part(how)](std::size_t from, std::size_t to) {
        return reduce_by(own, to - from, reducer, add, after(first, from), after(others, from)...);
      };
      return among_workers<result>(how, count, part, [reducer](result left, result right) {
        reducer.foldl(left, std::move(right));
        return left;
      });
    }
  }
  const std::size_t half = count / 2;
  auto child = fork([=] { return reduce_by(how, half, reducer, add, first, others...); });
  auto right = reduce_by(how, count - half, reducer, add, after(first, half), after(others, half)...);
  auto left = plain(child.join());
  reducer.foldl(left, std::move(right));
  return left;
}

/// The same for an operation that has no neutral element; COUNT is not 0.
template <class Policy, class T, class Op, class Get, class First, class... Others>
T reduce_some(const Policy& how, std::size_t count, const operation<T, Op>& by, const Get& get, First first,
              Others... others) {
  if (count <= leaf_of(how)) {
    T acc = held(
        1, [&](auto... at) -> T { return get(*at...); }, first, others...);
    serial_loop(
        chunk_of(how), count - 1, [&](auto&&... x) { by.combine(acc, get(std::forward<decltype(x)>(x)...)); },
        after(first, 1), after(others, 1)...);
    return acc;
  }
  if constexpr (tobi::detail::travels<std::tuple<T, Op, Get, First, Others...>>) {
    if (tobi::pieces::divides()) {
      const auto part = [=, own = of_a_part(how)](std::size_t from, std::size_t to) {
        return reduce_some(own, to - from, by, get, after(first, from), after(others, from)...);
      };
      return among_workers<T>(how, count, part, [by](T left, const T& right) {
        by.combine(left, right);
        return left;
      });
    }
  }
  const std::size_t half = count / 2;
  auto child = fork([=] { return reduce_some(how, half, by, get, first, others...); });
  T right = reduce_some(how, count - half, by, get, after(first, half), after(others, half)...);
  T left = plain(child.join());
  by.combine(left, right);
  return left;
}

struct as_it_is {
  template <class T>
  constexpr T&& operator()(T&& x) const noexcept {
    return std::forward<T>(x);
  }
};
}  // namespace internal

/// Accumulates F(x) of all elements by REDUCER.
template <class Policy, class First, internal::a_reducer Reducer, class F>
auto transform_reduce(const Policy& how, First first, First last, Reducer reducer, F f) {
  return internal::reduce_by(
      how, internal::length(first, last), reducer,
      [f](const Reducer& r, auto& acc, auto&& x) { r.foldl(acc, f(std::forward<decltype(x)>(x))); },
      internal::with_mode<checkout_mode::read_t>(first));
}
/// Accumulates F(x, y) of all elements of two ranges by REDUCER.
template <class Policy, class First, class Second, internal::a_reducer Reducer, class F>
auto transform_reduce(const Policy& how, First first, First last, Second second, Reducer reducer, F f) {
  return internal::reduce_by(
      how, internal::length(first, last), reducer,
      [f](const Reducer& r, auto& acc, auto&& x, auto&& y) {
        r.foldl(acc, f(std::forward<decltype(x)>(x), std::forward<decltype(y)>(y)));
      },
      internal::with_mode<checkout_mode::read_t>(first), internal::with_mode<checkout_mode::read_t>(second));
}
/// The sum of products.
template <class Policy, class First, class Second>
auto transform_reduce(const Policy& how, First first, First last, Second second) {
  using A = typename std::iterator_traits<First>::value_type;
  using B = typename std::iterator_traits<Second>::value_type;
  using T = decltype(std::declval<A>() * std::declval<B>());
  return transform_reduce(how, first, last, second, reducer::plus<T>{}, std::multiplies<>{});
}
/// INIT and F(x) of all elements, put together by OP.
template <class Policy, class First, class T, class Op, class F>
requires(!internal::a_reducer<T> && !internal::a_reducer<Op>) T
    transform_reduce(const Policy& how, First first, First last, T init, Op op, F f) {
  const std::size_t count = internal::length(first, last);
  if (count == 0) return init;
  return op(init, internal::reduce_some(how, count, internal::operation<T, Op>{op}, f,
                                        internal::with_mode<checkout_mode::read_t>(first)));
}
/// INIT and F(x, y) of all elements of two ranges, put together by OP.
template <class Policy, class First, class Second, class T, class Op, class F>
requires(!internal::a_reducer<T>) T
    transform_reduce(const Policy& how, First first, First last, Second second, T init, Op op, F f) {
  const std::size_t count = internal::length(first, last);
  if (count == 0) return init;
  return op(init, internal::reduce_some(how, count, internal::operation<T, Op>{op}, f,
                                        internal::with_mode<checkout_mode::read_t>(first),
                                        internal::with_mode<checkout_mode::read_t>(second)));
}
/// INIT and the sum of products.
template <class Policy, class First, class Second, class T>
requires(!internal::a_reducer<T> && !internal::a_reducer<Second>) T
    transform_reduce(const Policy& how, First first, First last, Second second, T init) {
  return transform_reduce(how, first, last, second, init, std::plus<>{}, std::multiplies<>{});
}

/// Accumulates all elements by REDUCER.
template <class Policy, class First, internal::a_reducer Reducer>
auto reduce(const Policy& how, First first, First last, Reducer reducer) {
  return transform_reduce(how, first, last, reducer, internal::as_it_is{});
}
/// INIT and all elements, put together by OP.
template <class Policy, class First, class T, class Op>
T reduce(const Policy& how, First first, First last, T init, Op op) {
  return transform_reduce(how, first, last, init, op, internal::as_it_is{});
}
/// INIT and the sum of all elements.
template <class Policy, class First, class T>
requires(!internal::a_reducer<T>) T reduce(const Policy& how, First first, First last, T init) {
  return reduce(how, first, last, init, std::plus<>{});
}
/// The sum of all elements.
template <class Policy, class First>
auto reduce(const Policy& how, First first, First last) {
  return reduce(how, first, last, reducer::plus<typename std::iterator_traits<First>::value_type>{});
}

namespace internal {

/// The sums of blocks in SUMS, one after the other, become the sums of what is before each: behind FROM.
template <class Reducer, class T>
void sums_before(const Reducer& reducer, T from, ori::global_ptr<T> sums, std::size_t blocks) {
  serial_loop(
      4096, blocks,
      [&](T& x) {
        const T before = from;
        reducer.foldl(from, x);
        x = before;
      },
      make_global_iterator(sums, checkout_mode::read_write));
}

/// Of each block the sum; what is before each; and then the elements.
template <class Policy, class From, class To, class Reducer, class F, class T>
void scan(const Policy& how, std::size_t count, From from, To to, const Reducer& reducer, F f, T init) {
  const auto sum_up = [=](T acc, std::size_t n, auto in, auto out) {
    serial_loop(
        chunk_of(how), n,
        [&](auto&& x, auto&& y) {
          reducer.foldl(acc, f(std::forward<decltype(x)>(x)));
          y = acc;
        },
        in, out);
  };
  const std::size_t leaf = leaf_of(how);
  if (count <= leaf) return sum_up(init, count, from, to);
  const std::size_t blocks = (count + leaf - 1) / leaf;
  const auto sums = ori::malloc<T>(blocks);
  const auto part = [=](std::size_t b) { return std::min(leaf, count - b * leaf); };
  const execution::parallel_policy each(1);
  loop(
      each, blocks,
      [=](std::size_t b, ori::global_ref<T> sum) {
        T acc = identity_of(reducer);
        serial_loop(
            chunk_of(how), part(b), [&](auto&& x) { reducer.foldl(acc, f(std::forward<decltype(x)>(x))); },
            after(from, b * leaf));
        sum = acc;
      },
      count_iterator<std::size_t>(0), sums);
  sums_before(reducer, init, sums, blocks);
  loop(
      each, blocks,
      [=](std::size_t b, ori::global_ref<T> sum) {
        sum_up(sum.get(), part(b), after(from, b * leaf), after(to, b * leaf));
      },
      count_iterator<std::size_t>(0), sums);
  ori::free(sums, blocks);
}

}  // namespace internal

/// Writes to place i what F(x) of the elements 0 to i accumulate to, behind INIT. Returns the end of what was written.
template <class Policy, class First, class To, internal::a_reducer Reducer, class F>
To transform_inclusive_scan(const Policy& how, First first, First last, To to, Reducer reducer, F f,
                            typename Reducer::accumulator_type init) {
  using out = typename std::iterator_traits<To>::value_type;
  static_assert(tobi::detail::travels<internal::accumulator_of<Reducer>>,
                "tobi: a scan's accumulators are kept in global memory, by their bytes");
  const std::size_t count = internal::length(first, last);
  internal::scan(how, count, internal::with_mode<checkout_mode::read_t>(first),
                 internal::with_mode<internal::target_mode<out>>(to), reducer, f, init);
  return internal::after(to, count);
}
template <class Policy, class First, class To, internal::a_reducer Reducer, class F>
To transform_inclusive_scan(const Policy& how, First first, First last, To to, Reducer reducer, F f) {
  return transform_inclusive_scan(how, first, last, to, reducer, f, internal::identity_of(reducer));
}
template <class Policy, class First, class To, internal::a_reducer Reducer>
To inclusive_scan(const Policy& how, First first, First last, To to, Reducer reducer,
                  typename Reducer::accumulator_type init) {
  return transform_inclusive_scan(how, first, last, to, reducer, internal::as_it_is{}, init);
}
template <class Policy, class First, class To, internal::a_reducer Reducer>
To inclusive_scan(const Policy& how, First first, First last, To to, Reducer reducer) {
  return inclusive_scan(how, first, last, to, reducer, internal::identity_of(reducer));
}
/// The sums of what comes up to each element.
template <class Policy, class First, class To>
To inclusive_scan(const Policy& how, First first, First last, To to) {
  return inclusive_scan(how, first, last, to, reducer::plus<typename std::iterator_traits<First>::value_type>{});
}

/// Whether two ranges have equal elements.
template <class Policy, class First, class Second, class Equal = std::equal_to<>>
bool equal(const Policy& how, First first, First last, Second second, Equal same = {}) {
  return transform_reduce(how, first, last, second, reducer::logical_and{}, same);
}
template <class Policy, class First, class Second>
bool equal(const Policy& how, First first, First last, Second second, Second second_end) {
  return internal::length(first, last) == internal::length(second, second_end) && equal(how, first, last, second);
}
template <class Policy, class First, class Second, class Equal>
bool equal(const Policy& how, First first, First last, Second second, Second second_end, Equal same) {
  return internal::length(first, last) == internal::length(second, second_end) && equal(how, first, last, second, same);
}
/// Whether no element comes before its predecessor.
template <class Policy, class First, class Compare = std::less<>>
bool is_sorted(const Policy& how, First first, First last, Compare before = {}) {
  if (internal::length(first, last) < 2) return true;
  return transform_reduce(how, first, internal::after(first, internal::length(first, last) - 1),
                          internal::after(first, 1), reducer::logical_and{},
                          [before](const auto& x, const auto& y) { return !before(y, x); });
}

}  // namespace ityr
