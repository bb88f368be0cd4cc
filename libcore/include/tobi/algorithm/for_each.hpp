// SPDX-License-Identifier: Apache-2.0
// Algorithms that treat each element by itself: for_each, transform, fill, iota, copy. Work O(n), depth O(log n) and a
// leaf. Each may migrate the caller, which holds no checkout. Functions are copied into tasks, so they capture by
// value. They run while their elements are checked out, so they neither fork nor join, but may check out more. What one
// throws leaves the algorithm as task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tobi/algorithm/policy.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// Calls function(element), or function(element, index) where it takes that, for each element. The element is checked
/// out as ACCESS says: `for_each(a, mode::write, f)` is for elements that f makes.
template <class T, access Access, class F>
void for_each(const execution_policy& how, global_span<T> a, mode::tag<Access>, const F& function) {
  using element = std::conditional_t<Access == access::read, const T, T>;
  const auto body = [function = function](std::size_t first, std::size_t n, element* at) mutable {
    for (std::size_t i = 0; i < n; ++i) {
      if constexpr (std::invocable<F&, element&, std::size_t>) {
        function(at[i], first + i);
      } else {
        (void)first;
        function(at[i]);
      }
    }
  };
  pieces::sweep_in_tasks(how, a.size(), body, pieces::operand<Access, element>{a});
}
/// The same with par.
template <class T, access Access, class F>
void for_each(global_span<T> a, mode::tag<Access> how, const F& function) {
  tobi::for_each(par, a, how, function);
}
/// The same: elements of a span of const are read, others are read and written.
template <class T, class F>
void for_each(const execution_policy& how, global_span<T> a, const F& function) {
  if constexpr (std::is_const_v<T>) {
    tobi::for_each(how, a, mode::read, function);
  } else {
    tobi::for_each(how, a, mode::read_write, function);
  }
}
/// The same with par.
template <class T, class F>
void for_each(global_span<T> a, const F& function) {
  tobi::for_each(par, a, function);
}

/// Does out[i] = function(in[i]). OUT is at least as long as IN, or a std::length_error is thrown. It may be IN itself,
/// and must not overlap it otherwise. IN is read, OUT written (read and written where its elements own something).
template <class In, class Out, class F>
void transform(const execution_policy& how, global_span<In> in, global_span<Out> out, const F& function) {
  pieces::check_sizes("transform", in.size(), out.size());
  const auto body = [function = function](std::size_t, std::size_t n, const In* from, Out* to) mutable {
    for (std::size_t i = 0; i < n; ++i) to[i] = function(from[i]);
  };
  pieces::sweep_in_tasks(how, in.size(), body, pieces::input(in), pieces::output<Out>{out});
}
/// The same with par.
template <class In, class Out, class F>
void transform(global_span<In> in, global_span<Out> out, const F& function) {
  tobi::transform(par, in, out, function);
}
/// Does out[i] = function(one[i], two[i]) for the elements of ONE, under the same conditions.
template <class One, class Two, class Out, class F>
void transform(const execution_policy& how, global_span<One> one, global_span<Two> two, global_span<Out> out,
               const F& function) {
  pieces::check_sizes("transform", one.size(), two.size());
  pieces::check_sizes("transform", one.size(), out.size());
  const auto body = [function = function](std::size_t, std::size_t n, const One* a, const Two* b, Out* to) mutable {
    for (std::size_t i = 0; i < n; ++i) to[i] = function(a[i], b[i]);
  };
  pieces::sweep_in_tasks(how, one.size(), body, pieces::input(one), pieces::input(two), pieces::output<Out>{out});
}
/// The same with par.
template <class One, class Two, class Out, class F>
void transform(global_span<One> one, global_span<Two> two, global_span<Out> out, const F& function) {
  tobi::transform(par, one, two, out, function);
}

/// Sets every element to VALUE, which is trivially copyable. The range is written.
template <class T>
void fill(const execution_policy& how, global_span<T> a, const std::type_identity_t<T>& value) {
  const auto body = [value](std::size_t, std::size_t n, T* at) {
    for (std::size_t i = 0; i < n; ++i) at[i] = value;
  };
  pieces::sweep_in_tasks(how, a.size(), body, pieces::output<T>{a});
}
/// The same with par.
template <class T>
void fill(global_span<T> a, const std::type_identity_t<T>& value) {
  tobi::fill(par, a, value);
}

/// Sets element i to FROM + i, for numbers. The range is written.
template <class T>
void iota(const execution_policy& how, global_span<T> a, std::type_identity_t<T> from) {
  static_assert(std::is_arithmetic_v<T>, "tobi: iota() is for numbers; use for_each with an index for other elements");
  const auto body = [from](std::size_t first, std::size_t n, T* at) {
    for (std::size_t i = 0; i < n; ++i) at[i] = static_cast<T>(from + static_cast<T>(first + i));
  };
  pieces::sweep_in_tasks(how, a.size(), body, pieces::output<T>{a});
}
/// The same with par.
template <class T>
void iota(global_span<T> a, std::type_identity_t<T> from) {
  tobi::iota(par, a, from);
}

/// Does out[i] = in[i]. OUT is at least as long as IN, or a std::length_error is thrown, and does not overlap it.
template <class In, class Out>
void copy(const execution_policy& how, global_span<In> in, global_span<Out> out) {
  pieces::check_sizes("copy", in.size(), out.size());
  const auto body = [](std::size_t, std::size_t n, const In* from, Out* to) { std::copy(from, from + n, to); };
  pieces::sweep_in_tasks(how, in.size(), body, pieces::input(in), pieces::output<Out>{out});
}
/// The same with par.
template <class In, class Out>
void copy(global_span<In> in, global_span<Out> out) {
  tobi::copy(par, in, out);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
