// SPDX-License-Identifier: Apache-2.0
// Reductions: reduce, transform_reduce, count_if. Work O(n), depth O(log n) and a leaf. The operands keep the order of
// the indices. So the operation must be associative and nothing else: neither commutative, nor with a neutral element.
// (Addition of floating-point numbers is not quite associative, so its result depends on the cutoff, and on nothing
// else.) Ranges are read. Each may migrate the caller, which holds no checkout. Functions do not fork. What one throws
// leaves as task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

#include "tobi/algorithm/policy.hpp"
#include "tobi/detail/combining.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// combine over map(a[i], ...) for [begin, end), which is not empty.
template <class R, class Map, class Combine, access... How, class... T>
R fold(const execution_policy& how, std::size_t begin, std::size_t end, const Map& map_given,
       const Combine& combine_given, operand<How, T>... ranges) {
  std::decay_t<Map> map = map_given;
  std::decay_t<Combine> combine = combine_given;
  if (end - begin <= cutoff_of<T...>(how)) {
    std::optional<R> value;  // of what has been seen
    const auto body = [&](std::size_t, std::size_t n, const T*... at) {
      std::size_t i = 0;
      if (!value) {
        value.emplace(map(at[0]...));
        i = 1;
      };
      R so_far = *value;
      for (; i < n; ++i) so_far = combine(so_far, map(at[i]...));
      value.emplace(so_far);
    };
    sweep(how, begin, end, body, ranges...);
    return *value;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  auto left = spawn([=] { return fold<R>(how, begin, middle, map, combine, ranges...); });
  const R right = fold<R>(how, middle, end, map, combine, ranges...);
  return combine(left.join(), right);
}

/// fold() over [0, SIZE), which is not empty, with its parts where their data are.
template <class R, class Map, class Combine, access... How, class... T>
R fold_all(const execution_policy& how, std::size_t size, const Map& map, const Combine& combine,
           operand<How, T>... ranges) {
  const std::size_t cutoff = cutoff_of<T...>(how);
  const placement at = home_of(how, cutoff, size, ranges...);
  if (!at.at_owners()) {
    if (size <= cutoff || !divides()) return fold<R>(how, 0, size, map, combine, ranges...);
    const auto share = [=](std::size_t begin, std::size_t end) {
      return fold<R>(how, begin, end, map, combine, ranges...);
    };
    return in_shares<R>(size, cutoff, share, combine);
  }
  execution_policy own = how;
  if (at.alone()) own.cutoff = size;
  const auto part = [=](std::size_t begin, std::size_t end) {
    return fold<R>(own, begin, end, map, combine, ranges...);
  };
  return *fold_at_homes<R>(at, size, part, combine);
}

/// Whether a reduction to R of the elements T has its functions in their order.
template <class R, class Combine, class Map, class... T>
inline constexpr bool in_order = detail::combines<Combine, R>&& std::is_invocable_v<Map&, const T&...>;

/// A whole reduction over the elements of A, and of as many of each of the OTHERS.
template <class R, class Combine, class Map, class A, class... Others>
R span_reduction(const execution_policy& how, const R& initial, const Combine& combine, const Map& map,
                 global_span<A> a, global_span<Others>... others) {
  detail::check_result<R>();
  constexpr bool right = in_order<R, Combine, Map, A, Others...>;
  static_assert(!detail::travels<R> || right,
                "tobi: reduce(a, initial, combine), transform_reduce(a, initial, combine, map): combine takes two "
                "values of the initial one's type and returns one, and map, which comes last, takes an element");
  if constexpr (detail::travels<R> && right) {
    (check_sizes("transform_reduce", a.size(), others.size()), ...);
    if (a.empty()) return initial;
    return with_one_error([&]() -> R {
      Combine mine = combine;
      return mine(initial, fold_all<R>(how, a.size(), map, combine, input(a), input(others)...));
    });
  } else {
    __builtin_unreachable();
  }
}

}  // namespace pieces

/// Returns combine(... combine(combine(INITIAL, map(a[0])), map(a[1])) ...), grouped otherwise. R is copied by its
/// bytes. COMBINE comes before MAP here, and behind it in parallel_reduce().
template <class T, class R, class Combine, class Map>
R transform_reduce(const execution_policy& how, global_span<T> a, const R& initial, const Combine& combine,
                   const Map& map) {
  return pieces::span_reduction<R, std::decay_t<Combine>, std::decay_t<Map>>(how, initial, combine, map, a);
}
/// The same with par.
template <class T, class R, class Combine, class Map>
R transform_reduce(global_span<T> a, const R& initial, const Combine& combine, const Map& map) {
  return tobi::transform_reduce(par, a, initial, combine, map);
}
/// The same over map(a[i], b[i]), for the elements of A. B is at least as long, or a std::length_error is thrown.
template <class A, class B, class R, class Combine, class Map>
R transform_reduce(const execution_policy& how, global_span<A> a, global_span<B> b, const R& initial,
                   const Combine& combine, const Map& map) {
  return pieces::span_reduction<R, std::decay_t<Combine>, std::decay_t<Map>>(how, initial, combine, map, a, b);
}
/// The same with par.
template <class A, class B, class R, class Combine, class Map>
R transform_reduce(global_span<A> a, global_span<B> b, const R& initial, const Combine& combine, const Map& map) {
  return tobi::transform_reduce(par, a, b, initial, combine, map);
}

/// Returns the elements combined, INITIAL first. R is the type to which elements are converted.
/// @code
/// const auto a = tobi::allocate_all<int>(10);
/// const long factorial = tobi::run([=] {
///   tobi::iota(a, 1);
///   return tobi::reduce(a, 1L, [](long x, long y) { return x * y; });
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", factorial);  // prints 3628800
/// @endcode
template <class T, class R, class Combine>
R reduce(const execution_policy& how, global_span<T> a, const R& initial, const Combine& combine) {
  return tobi::transform_reduce(how, a, initial, combine, [](const T& x) { return static_cast<R>(x); });
}
/// The same with par.
template <class T, class R, class Combine>
R reduce(global_span<T> a, const R& initial, const Combine& combine) {
  return tobi::reduce(par, a, initial, combine);
}
/// Returns their sum, INITIAL first: reduce(a, 0L) adds up in a long.
template <class T, class R>
R reduce(const execution_policy& how, global_span<T> a, const R& initial) {
  return tobi::reduce(how, a, initial, std::plus<>());
}
/// The same with par.
template <class T, class R>
R reduce(global_span<T> a, const R& initial) {
  return tobi::reduce(par, a, initial);
}
/// Returns their sum.
template <class T>
std::remove_const_t<T> reduce(const execution_policy& how, global_span<T> a) {
  return tobi::reduce(how, a, std::remove_const_t<T>{}, std::plus<>());
}
/// The same with par.
template <class T>
std::remove_const_t<T> reduce(global_span<T> a) {
  return tobi::reduce(par, a);
}

/// Returns the number of elements that have predicate(element).
template <class T, class Predicate>
std::size_t count_if(const execution_policy& how, global_span<T> a, const Predicate& predicate) {
  return tobi::transform_reduce(how, a, std::size_t{0}, std::plus<>(), [predicate = predicate](const T& x) mutable {
    return predicate(x) ? std::size_t{1} : std::size_t{0};
  });
}
/// The same with par.
template <class T, class Predicate>
std::size_t count_if(global_span<T> a, const Predicate& predicate) {
  return tobi::count_if(par, a, predicate);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
