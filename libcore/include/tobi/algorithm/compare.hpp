// SPDX-License-Identifier: Apache-2.0
// Whether ranges are alike, and whether one is in order: mismatch, equal, is_sorted, is_sorted_until. Each looks for
// the first element that is not as it should be, as find_if does (algorithm/find.hpp has what that costs), and reads
// its ranges. May migrate the caller, which holds no checkout. Functions do not fork. What one throws leaves as
// task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "tobi/algorithm/find.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// Returns the addresses of the first elements of ONE and TWO, at the same index, that are not equal(one[i], two[i]).
/// Where there are none, they are those behind as many elements as the shorter range has.
template <class One, class Two, class Equal = std::equal_to<>>
std::pair<global_ptr<One>, global_ptr<Two>> mismatch(const execution_policy& how, global_span<One> one,
                                                     global_span<Two> two, const Equal& equal = {}) {
  const auto differ = [equal = equal](const One& x, const Two& y) mutable { return !equal(x, y); };
  const std::size_t size = std::min(one.size(), two.size());
  const std::size_t at = pieces::first_match(how, size, differ, pieces::input(one), pieces::input(two));
  return {one.data() + at, two.data() + at};
}
/// The same with par.
template <class One, class Two, class Equal = std::equal_to<>>
std::pair<global_ptr<One>, global_ptr<Two>> mismatch(global_span<One> one, global_span<Two> two,
                                                     const Equal& equal = {}) {
  return tobi::mismatch(par, one, two, equal);
}

/// Returns whether ONE and TWO have equally many elements, and all of them are equal(one[i], two[i]).
/// @code
/// const auto a = tobi::allocate_all<int>(1000);
/// const auto b = tobi::allocate_all<int>(1000);
/// const bool same = tobi::run([=] {
///   tobi::iota(a, 0);
///   tobi::reverse_copy(a, b);
///   tobi::sort(b);
///   return tobi::equal(a, b);
/// });
/// if (rt.rank() == 0) std::printf("%s\n", same ? "equal" : "different");  // prints equal
/// @endcode
template <class One, class Two, class Equal = std::equal_to<>>
bool equal(const execution_policy& how, global_span<One> one, global_span<Two> two, const Equal& equal = {}) {
  return one.size() == two.size() && tobi::mismatch(how, one, two, equal).first == one.end();
}
/// The same with par.
template <class One, class Two, class Equal = std::equal_to<>>
bool equal(global_span<One> one, global_span<Two> two, const Equal& equal = {}) {
  return tobi::equal(par, one, two, equal);
}

/// Returns the address of the first element that LESS puts before the one in front of it, or the end.
template <class T, class Less = std::less<>>
global_ptr<T> is_sorted_until(const execution_policy& how, global_span<T> a, Less less = {}) {
  const auto falls = [less](const T& x, const T& next) mutable { return static_cast<bool>(less(next, x)); };
  const std::size_t at = pieces::first_neighbours(how, a, falls);
  return a.data() + (at == a.size() ? at : at + 1);
}
/// The same with par.
template <class T, class Less = std::less<>>
global_ptr<T> is_sorted_until(global_span<T> a, Less less = {}) {
  return tobi::is_sorted_until(par, a, less);
}
/// Returns whether A is sorted as LESS says.
template <class T, class Less = std::less<>>
bool is_sorted(const execution_policy& how, global_span<T> a, Less less = {}) {
  return tobi::is_sorted_until(how, a, less) == a.end();
}
/// The same with par.
template <class T, class Less = std::less<>>
bool is_sorted(global_span<T> a, Less less = {}) {
  return tobi::is_sorted(par, a, less);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
