// SPDX-License-Identifier: Apache-2.0
// Reducers: how elements are accumulated, and accumulated parts put together, in order.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

namespace ityr::reducer {

/// A reducer of values by BinaryOp, whose neutral element Identity() is.
template <class T, class BinaryOp, class Identity>
struct monoid {
  using value_type = T;
  using accumulator_type = T;
  [[no_unique_address]] BinaryOp combine{};
  [[no_unique_address]] Identity neutral{};
  T operator()() const { return neutral(); }
  void foldl(T& left, const T& right) const { left = combine(left, right); }
  void foldr(const T& left, T& right) const { right = combine(left, right); }
};

namespace internal {
template <class T>
struct zero {
  constexpr T operator()() const { return T{}; }
};
template <class T>
struct one {
  constexpr T operator()() const { return T{1}; }
};
template <class T>
struct lowest {
  constexpr T operator()() const { return std::numeric_limits<T>::lowest(); }
};
template <class T>
struct highest {
  constexpr T operator()() const { return std::numeric_limits<T>::max(); }
};
struct smaller {
  template <class T>
  constexpr T operator()(const T& x, const T& y) const {
    return std::min(x, y);
  }
};
struct larger {
  template <class T>
  constexpr T operator()(const T& x, const T& y) const {
    return std::max(x, y);
  }
};
}  // namespace internal

template <class T>
using plus = monoid<T, std::plus<>, internal::zero<T>>;
template <class T>
using multiplies = monoid<T, std::multiplies<>, internal::one<T>>;
template <class T>
using min = monoid<T, internal::smaller, internal::highest<T>>;
template <class T>
using max = monoid<T, internal::larger, internal::lowest<T>>;
using logical_and = monoid<bool, std::logical_and<>, std::true_type>;
using logical_or = monoid<bool, std::logical_or<>, std::false_type>;

/// The least and the greatest.
template <class T>
struct minmax {
  using value_type = T;
  using accumulator_type = std::pair<T, T>;
  accumulator_type operator()() const { return {std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()}; }
  void foldl(accumulator_type& acc, const T& x) const { foldl(acc, accumulator_type(x, x)); }
  void foldl(accumulator_type& left, const accumulator_type& right) const {
    left = {std::min(left.first, right.first), std::max(left.second, right.second)};
  }
  void foldr(const accumulator_type& left, accumulator_type& right) const { foldl(right, left); }
};

/// A reducer of functions: IDENTITY() makes an accumulator, ADD(acc, x) adds an element, COMBINE(left, right) adds what
/// comes behind.
template <class Identity, class Add, class Combine>
struct made_reducer {
  using accumulator_type = std::invoke_result_t<const Identity&>;
  Identity identity;
  Add add;
  Combine combine;
  accumulator_type operator()() const { return identity(); }
  template <class T>
  void foldl(accumulator_type& acc, T&& x) const {
    if constexpr (std::is_same_v<std::remove_cvref_t<T>, accumulator_type> &&
                  std::is_invocable_v<const Combine&, accumulator_type&, T>) {
      combine(acc, std::forward<T>(x));
    } else {
      add(acc, std::forward<T>(x));
    }
  }
};
template <class Identity, class Add, class Combine>
auto make_reducer(Identity identity, Add add, Combine combine) {
  return made_reducer<Identity, Add, Combine>{identity, add, combine};
}
/// The same where elements and accumulators are one type.
template <class Identity, class Combine>
auto make_reducer(Identity identity, Combine combine) {
  return made_reducer<Identity, Combine, Combine>{identity, combine, combine};
}

}  // namespace ityr::reducer
