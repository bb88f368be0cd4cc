// Algorithms that treat each element by itself: for_each, transform, fill, iota, copy. Work O(n), depth O(log n) and a
// leaf. Each may migrate the caller, which holds no checkout. Functions are copied into tasks, so they capture by
// value; they run while their elements are checked out, so they neither fork nor join, but may check out more. What
// one throws leaves as itself or, from another task, as task_error.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tobi/algorithm/policy.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// function(element), or function(element, index) where it takes that, for each element, which is checked out as ACCESS
/// says: `for_each(par, a, mode::write, f)` for elements that f makes.
template <class T, access Access, class F>
void for_each(const execution_policy& how, global_span<T> a, mode::tag<Access>, F function) {
  using element = std::conditional_t<Access == access::read, const T, T>;
  const auto body = [=](std::size_t first, std::size_t n, element* at) mutable {
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
/// The same: elements of a span of const are read, others are read and written.
template <class T, class F>
void for_each(const execution_policy& how, global_span<T> a, F function) {
  if constexpr (std::is_const_v<T>) {
    tobi::for_each(how, a, mode::read, function);
  } else {
    tobi::for_each(how, a, mode::read_write, function);
  }
}
template <class T, class F>
void for_each(global_span<T> a, F function) {
  tobi::for_each(par, a, function);
}

/// out[i] = function(in[i]). OUT is at least as long as IN, or a std::length_error is thrown; it may be IN itself, and
/// must not overlap it otherwise. IN is read, OUT written (read and written where its elements own something).
template <class In, class Out, class F>
void transform(const execution_policy& how, global_span<In> in, global_span<Out> out, F function) {
  pieces::check_sizes("transform", in.size(), out.size());
  const auto body = [=](std::size_t, std::size_t n, const In* from, Out* to) mutable {
    for (std::size_t i = 0; i < n; ++i) to[i] = function(from[i]);
  };
  pieces::sweep_in_tasks(how, in.size(), body, pieces::input(in), pieces::output<Out>{out});
}
template <class In, class Out, class F>
void transform(global_span<In> in, global_span<Out> out, F function) {
  tobi::transform(par, in, out, function);
}
/// out[i] = function(one[i], two[i]), for the elements of ONE; likewise.
template <class One, class Two, class Out, class F>
void transform(const execution_policy& how, global_span<One> one, global_span<Two> two, global_span<Out> out,
               F function) {
  pieces::check_sizes("transform", one.size(), two.size());
  pieces::check_sizes("transform", one.size(), out.size());
  const auto body = [=](std::size_t, std::size_t n, const One* a, const Two* b, Out* to) mutable {
    for (std::size_t i = 0; i < n; ++i) to[i] = function(a[i], b[i]);
  };
  pieces::sweep_in_tasks(how, one.size(), body, pieces::input(one), pieces::input(two), pieces::output<Out>{out});
}
template <class One, class Two, class Out, class F>
void transform(global_span<One> one, global_span<Two> two, global_span<Out> out, F function) {
  tobi::transform(par, one, two, out, function);
}

/// Every element becomes VALUE, which is trivially copyable. Written.
template <class T>
void fill(const execution_policy& how, global_span<T> a, const std::type_identity_t<T>& value) {
  const auto body = [value](std::size_t, std::size_t n, T* at) {
    for (std::size_t i = 0; i < n; ++i) at[i] = value;
  };
  pieces::sweep_in_tasks(how, a.size(), body, pieces::output<T>{a});
}
template <class T>
void fill(global_span<T> a, const std::type_identity_t<T>& value) {
  tobi::fill(par, a, value);
}

/// Element i becomes FROM + i. Of numbers. Written.
template <class T>
void iota(const execution_policy& how, global_span<T> a, std::type_identity_t<T> from) {
  static_assert(std::is_arithmetic_v<T>, "tobi: iota() is for numbers; use for_each with an index for other elements");
  const auto body = [from](std::size_t first, std::size_t n, T* at) {
    for (std::size_t i = 0; i < n; ++i) at[i] = static_cast<T>(from + static_cast<T>(first + i));
  };
  pieces::sweep_in_tasks(how, a.size(), body, pieces::output<T>{a});
}
template <class T>
void iota(global_span<T> a, std::type_identity_t<T> from) {
  tobi::iota(par, a, from);
}

/// out[i] = in[i]; OUT is at least as long, or a std::length_error is thrown, and does not overlap IN.
template <class In, class Out>
void copy(const execution_policy& how, global_span<In> in, global_span<Out> out) {
  pieces::check_sizes("copy", in.size(), out.size());
  const auto body = [](std::size_t, std::size_t n, const In* from, Out* to) { std::copy(from, from + n, to); };
  pieces::sweep_in_tasks(how, in.size(), body, pieces::input(in), pieces::output<Out>{out});
}
template <class In, class Out>
void copy(global_span<In> in, global_span<Out> out) {
  tobi::copy(par, in, out);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
