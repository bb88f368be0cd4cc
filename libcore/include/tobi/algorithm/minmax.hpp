// SPDX-License-Identifier: Apache-2.0
// min_element, max_element, minmax_element: where the extremes are. Work O(n), depth O(log n) and a leaf. The range is
// read once, and its elements are copied by their bytes. Each may migrate the caller, which holds no checkout. The
// comparison does not fork. What it throws leaves as task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "tobi/algorithm/chunks.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// An element that was found, and its index.
template <class T>
struct found {
  T value;
  std::size_t at;
};
/// The element at BEST of a chunk that begins with index FIRST at BEGIN.
template <class T>
found<T> found_in_chunk(std::size_t first, const T* begin, const T* best) {
  return {*best, first + static_cast<std::size_t>(best - begin)};
}

/// The first element of A, which is not empty, that no other one is before in the order of LESS.
template <class T, class Less>
global_ptr<T> first_of_least(const execution_policy& how, global_span<T> a, Less less) {
  using element = std::remove_const_t<T>;
  static_assert(detail::travels<element>,
                "tobi: min_element() and its like copy bytes: the copy constructor and the destructor of their "
                "elements must be trivial");
  if constexpr (detail::travels<element>) {
    const auto in_chunk = [less](std::size_t first, std::size_t n, const element* at) mutable {
      return found_in_chunk(first, at, std::min_element(at, at + n, std::ref(less)));
    };
    const auto combine = [less](const found<element>& x, const found<element>& y) mutable {
      return less(y.value, x.value) ? y : x;
    };
    return &a[reduce_chunks(how, in(a), found<element>{load(&a[0]), 0}, combine, in_chunk).at];
  } else {
    __builtin_unreachable();
  }
}

}  // namespace pieces

/// Returns the address of the first of the smallest elements, as LESS says, or the end of an empty range.
/// @code
/// const auto a = tobi::allocate_all<int>(1000);
/// const auto place = tobi::run([=] {
///   tobi::for_each(a, tobi::mode::write, [](int& x, std::size_t i) { x = (static_cast<int>(i) - 700) / 10; });
///   return tobi::min_element(a, [](int x, int y) { return x * x < y * y; }) - a.data();
/// });
/// if (rt.rank() == 0) std::printf("%d\n", static_cast<int>(place));  // prints 691
/// @endcode
template <class T, class Less = std::less<>>
global_ptr<T> min_element(const execution_policy& how, global_span<T> a, Less less = {}) {
  return a.empty() ? a.end() : pieces::first_of_least(how, a, less);
}
/// The same with par.
template <class T, class Less = std::less<>>
global_ptr<T> min_element(global_span<T> a, Less less = {}) {
  return tobi::min_element(par, a, less);
}

/// Returns the address of the first of the largest elements, or the end of an empty range.
template <class T, class Less = std::less<>>
global_ptr<T> max_element(const execution_policy& how, global_span<T> a, Less less = {}) {
  return tobi::min_element(how, a, [less](const T& x, const T& y) mutable { return less(y, x); });
}
/// The same with par.
template <class T, class Less = std::less<>>
global_ptr<T> max_element(global_span<T> a, Less less = {}) {
  return tobi::max_element(par, a, less);
}

/// Returns the addresses of the first of the smallest elements and of the last of the largest ones, or the end twice.
template <class T, class Less = std::less<>>
std::pair<global_ptr<T>, global_ptr<T>> minmax_element(const execution_policy& how, global_span<T> a, Less less = {}) {
  using element = std::remove_const_t<T>;
  using both = std::pair<pieces::found<element>, pieces::found<element>>;
  if (a.empty()) return {a.end(), a.end()};
  const auto in_chunk = [less](std::size_t first, std::size_t n, const element* at) mutable {
    const auto [least, greatest] = std::minmax_element(at, at + n, std::ref(less));
    return both(pieces::found_in_chunk(first, at, least), pieces::found_in_chunk(first, at, greatest));
  };
  const auto combine = [less](const both& x, const both& y) mutable {
    return both(less(y.first.value, x.first.value) ? y.first : x.first,
                less(y.second.value, x.second.value) ? x.second : y.second);
  };
  const pieces::found<element> one{load(&a[0]), 0};
  const both places = reduce_chunks(how, in(a), both(one, one), combine, in_chunk);
  return {&a[places.first.at], &a[places.second.at]};
}
/// The same with par.
template <class T, class Less = std::less<>>
std::pair<global_ptr<T>, global_ptr<T>> minmax_element(global_span<T> a, Less less = {}) {
  return tobi::minmax_element(par, a, less);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
