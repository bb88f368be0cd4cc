// Reductions: reduce, transform_reduce, count_if. Work O(n), depth O(log n) and a leaf. The operands keep the order of
// the indices, so the operation must be associative and nothing else: neither commutative, nor with a neutral element.
// (For floating-point numbers, whose addition is not quite associative, the answer depends on the cutoff, and on
// nothing else.) Ranges are read. Each may migrate the caller, which holds no checkout; functions do not fork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

#include "tobi/algorithm/policy.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// combine over map(a[i], ...) for [begin, end), which is not empty.
template <class R, class Map, class Combine, access... How, class... T>
R fold(const execution_policy& how, std::size_t begin, std::size_t end, Map map, Combine combine,
       operand<How, T>... ranges) {
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

}  // namespace pieces

/// combine(... combine(combine(INITIAL, map(a[0])), map(a[1])) ...), grouped otherwise. R is trivially copyable.
template <class T, class R, class Combine, class Map>
R transform_reduce(const execution_policy& how, global_span<T> a, R initial, Combine combine, Map map) {
  detail::check_result<R>();
  if (a.empty()) return initial;
  return combine(initial, pieces::fold<R>(how, 0, a.size(), map, combine, pieces::input(a)));
}
template <class T, class R, class Combine, class Map>
R transform_reduce(global_span<T> a, R initial, Combine combine, Map map) {
  return tobi::transform_reduce(par, a, initial, combine, map);
}
/// The same over map(a[i], b[i]), for the elements of A; B is at least as long, or a std::length_error is thrown.
template <class A, class B, class R, class Combine, class Map>
R transform_reduce(const execution_policy& how, global_span<A> a, global_span<B> b, R initial, Combine combine,
                   Map map) {
  detail::check_result<R>();
  pieces::check_sizes("transform_reduce", a.size(), b.size());
  if (a.empty()) return initial;
  return combine(initial, pieces::fold<R>(how, 0, a.size(), map, combine, pieces::input(a), pieces::input(b)));
}
template <class A, class B, class R, class Combine, class Map>
R transform_reduce(global_span<A> a, global_span<B> b, R initial, Combine combine, Map map) {
  return tobi::transform_reduce(par, a, b, initial, combine, map);
}

/// The elements combined, INITIAL first. R is what elements are converted to.
template <class T, class R, class Combine>
R reduce(const execution_policy& how, global_span<T> a, R initial, Combine combine) {
  return tobi::transform_reduce(how, a, initial, combine, [](const T& x) { return static_cast<R>(x); });
}
template <class T, class R, class Combine>
R reduce(global_span<T> a, R initial, Combine combine) {
  return tobi::reduce(par, a, initial, combine);
}
/// Their sum.
template <class T>
std::remove_const_t<T> reduce(const execution_policy& how, global_span<T> a) {
  return tobi::reduce(how, a, std::remove_const_t<T>{}, std::plus<>());
}
template <class T>
std::remove_const_t<T> reduce(global_span<T> a) {
  return tobi::reduce(par, a);
}

/// How many elements have predicate(element).
template <class T, class Predicate>
std::size_t count_if(const execution_policy& how, global_span<T> a, Predicate predicate) {
  return tobi::transform_reduce(how, a, std::size_t{0}, std::plus<>(),
                                [=](const T& x) mutable { return predicate(x) ? std::size_t{1} : std::size_t{0}; });
}
template <class T, class Predicate>
std::size_t count_if(global_span<T> a, Predicate predicate) {
  return tobi::count_if(par, a, predicate);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
