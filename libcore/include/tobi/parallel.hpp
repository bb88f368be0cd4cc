// SPDX-License-Identifier: Apache-2.0
// Fork-join patterns over spawn and join. Functions are copied into each task, so they capture by value. Each pattern
// may migrate the caller. What a function throws leaves the pattern as task_error, wherever it was thrown, when all
// tasks of the pattern have ended. With TOBI_ELIDE the patterns run serially.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "tobi/detail/one_error.hpp"
#include "tobi/placement.hpp"
#include "tobi/task.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// What the patterns are made of: not for users.
namespace pieces {

/// A function's result as the element of a tuple.
template <class F>
using element_of = std::conditional_t<std::is_void_v<detail::result_of<F>>, std::monostate, detail::result_of<F>>;

template <class F>
std::tuple<element_of<F>> invoke_all(const F& last) {
  F mine = last;
  if constexpr (std::is_void_v<detail::result_of<F>>) {
    mine();
    return {};
  } else {
    return std::tuple<element_of<F>>(mine());
  }
}
template <class F, class G, class... Rest>
std::tuple<element_of<F>, element_of<G>, element_of<Rest>...> invoke_all(const F& first, const G& second,
                                                                         const Rest&... rest) {
  auto child = spawn(first);
  const auto others = invoke_all<G, Rest...>(second, rest...);
  if constexpr (std::is_void_v<detail::result_of<F>>) {
    child.join();
    return std::tuple_cat(std::tuple<std::monostate>(), others);
  } else {
    return std::tuple_cat(std::tuple<element_of<F>>(child.join()), others);
  }
}

/// How many indices [BEGIN, END) has, which is not empty.
template <class Index>
constexpr std::size_t distance(Index begin, Index end) noexcept {
  return static_cast<std::size_t>(end) - static_cast<std::size_t>(begin);
}
/// The index N places behind BEGIN.
template <class Index>
constexpr Index advanced(Index begin, std::size_t n) noexcept {
  return static_cast<Index>(static_cast<std::size_t>(begin) + n);
}

template <class Index, class Body>
void for_each_index(Index begin, Index end, const Body& body) {
  Body mine = body;
  for (Index i = begin; i < end; ++i) mine(i);
}
/// GRAIN is at least 1.
template <class Index, class Body>
void for_halves(Index begin, Index end, Index grain, const Body& body) {
  if (distance(begin, end) <= static_cast<std::size_t>(grain)) {
    for_each_index(begin, end, body);
    return;
  }
  const Index middle = advanced(begin, distance(begin, end) / 2);
  auto left = spawn([=] { for_halves(begin, middle, grain, body); });
  for_halves(middle, end, grain, body);
  left.join();
}

template <class R, class Index, class Map, class Combine>
R reduce_each(Index begin, Index end, const R& identity, const Map& map, const Combine& combine) {
  Combine mine = combine;
  Map mapped = map;
  R value = identity;
  for (Index i = begin; i < end; ++i) value = mine(value, mapped(i));
  return value;
}
template <class R, class Index, class Map, class Combine>
R reduce_halves(Index begin, Index end, Index grain, const R& identity, const Map& map, const Combine& combine) {
  if (distance(begin, end) <= static_cast<std::size_t>(grain)) {
    return reduce_each<R>(begin, end, identity, map, combine);
  }
  Combine mine = combine;
  const Index middle = advanced(begin, distance(begin, end) / 2);
  auto left = spawn([=] { return reduce_halves<R>(begin, middle, grain, identity, map, combine); });
  const R right = reduce_halves<R>(middle, end, grain, identity, map, combine);
  return mine(left.join(), right);
}

}  // namespace pieces

/// Runs all FUNCTIONS, the last one in the caller, and returns when all have. Returns the tuple of their results, with
/// std::monostate for a function that returns nothing. Results are copied by their bytes.
/// @code
/// const long area = tobi::run([] {
///   const auto [width, height] = tobi::parallel_invoke([] { return 6L; }, [] { return 7L; });
///   return width * height;
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", area);  // prints 42
/// @endcode
template <class... Functions>
std::tuple<pieces::element_of<std::decay_t<Functions>>...> parallel_invoke(Functions&&... functions) {
  (detail::check_closure<std::decay_t<Functions>>(), ...);
  (detail::check_result<detail::result_of<std::decay_t<Functions>>>(), ...);
  if constexpr (sizeof...(Functions) == 0) {
    return {};
  } else {
    return pieces::with_one_error([&] { return pieces::invoke_all<std::decay_t<Functions>...>(functions...); });
  }
}

/// body(i) for each i of [begin, end), in tasks of at most GRAIN iterations (at least 1), split in halves.
/// @code
/// const auto squares = tobi::allocate_all<long>(1000);
/// const long sum = tobi::run([=] {
///   tobi::parallel_for(0, 1000, 100, [=](int i) { squares[i] = i * i; });
///   return tobi::reduce(squares);
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 332833500
/// @endcode
template <class Index, class Body>
void parallel_for(Index begin, Index end, std::type_identity_t<Index> grain, Body&& body) {
  static_assert(std::is_integral_v<Index>, "tobi: parallel_for counts with an integer");
  detail::check_closure<std::decay_t<Body>>();
  if (!(begin < end)) return;
  if (grain < 1) grain = Index{1};
  pieces::with_one_error([&] { pieces::for_halves<Index, std::decay_t<Body>>(begin, end, grain, body); });
}

/// The same, where AT says which worker begins what: see on(). With affinity::owner_computes GRAIN has no effect.
template <class Index, class Body>
void parallel_for(const placement& at, Index begin, Index end, std::type_identity_t<Index> grain, Body&& body) {
  if (!at.at_owners()) {
    parallel_for(begin, end, grain, std::forward<Body>(body));
    return;
  }
  static_assert(std::is_integral_v<Index>, "tobi: parallel_for counts with an integer");
  using Own = std::decay_t<Body>;
  detail::check_closure<Own>();
  if (!(begin < end)) return;
  if (grain < 1) grain = Index{1};
  const std::size_t n = pieces::distance(begin, end);
  const Own& given = body;
  pieces::with_one_error([&] {
    pieces::at_homes(at, 0, at.parts(), [at, begin, grain, n, own = given](std::size_t piece) {
      const Index from = pieces::advanced(begin, at.begin_of(piece, n));
      const Index to = pieces::advanced(begin, at.begin_of(piece + 1, n));
      if (at.alone()) {
        pieces::for_each_index(from, to, own);
      } else if (from < to) {
        pieces::for_halves(from, to, grain, own);
      }
    });
  });
}

/// The same with two types of integers, as in parallel_for(0, v.size(), 1, body). The body gets their common type.
/// Where one of them is signed and the other is not, it gets a signed one of 64 bits: a negative begin stays what it
/// is, and so does a large end (below 2^63).
template <class Begin, class End, class Grain, class Body>
requires(!std::is_same_v<Begin, End>) void parallel_for(Begin begin, End end, Grain grain, Body&& body) {
  static_assert(std::is_integral_v<Begin> && std::is_integral_v<End>, "tobi: parallel_for counts with integers");
  using Common = std::common_type_t<Begin, End>;
  using Index = std::conditional_t<std::is_signed_v<Begin> == std::is_signed_v<End>, Common, std::int64_t>;
  parallel_for(static_cast<Index>(begin), static_cast<Index>(end), static_cast<Index>(grain), body);
}
/// The same with both.
template <class Begin, class End, class Grain, class Body>
requires(!std::is_same_v<Begin, End>) void parallel_for(const placement& at, Begin begin, End end, Grain grain,
                                                        Body&& body) {
  static_assert(std::is_integral_v<Begin> && std::is_integral_v<End>, "tobi: parallel_for counts with integers");
  using Common = std::common_type_t<Begin, End>;
  using Index = std::conditional_t<std::is_signed_v<Begin> == std::is_signed_v<End>, Common, std::int64_t>;
  parallel_for(at, static_cast<Index>(begin), static_cast<Index>(end), static_cast<Index>(grain), body);
}

/// Returns map(i), combined by COMBINE for each i of [begin, end), in tasks of at most GRAIN iterations. Returns
/// IDENTITY for an empty range. COMBINE must be associative. The order of the operands is the order of the indices.
/// @code
/// const double pi = tobi::run([] {
///   const auto term = [](int i) { return (i % 2 == 0 ? 4.0 : -4.0) / (2 * i + 1); };
///   return tobi::parallel_reduce(0, 1000000, 1000, 0.0, term, [](double a, double b) { return a + b; });
/// });
/// if (rt.rank() == 0) std::printf("%.5f\n", pi);  // prints 3.14159
/// @endcode
template <class Index, class R, class Map, class Combine>
R parallel_reduce(Index begin, Index end, std::type_identity_t<Index> grain, const R& identity, Map&& map,
                  Combine&& combine) {
  static_assert(std::is_integral_v<Index>, "tobi: parallel_reduce counts with an integer");
  detail::check_result<R>();
  detail::check_closure<std::decay_t<Map>>();
  detail::check_closure<std::decay_t<Combine>>();
  if (!(begin < end)) return identity;
  if (grain < 1) grain = Index{1};
  return pieces::with_one_error([&] {
    return pieces::reduce_halves<R, Index, std::decay_t<Map>, std::decay_t<Combine>>(begin, end, grain, identity, map,
                                                                                     combine);
  });
}
/// The same, where AT says which worker begins what: see on().
template <class Index, class R, class Map, class Combine>
R parallel_reduce(const placement& at, Index begin, Index end, std::type_identity_t<Index> grain, const R& identity,
                  Map&& map, Combine&& combine) {
  if (!at.at_owners()) {
    return parallel_reduce(begin, end, grain, identity, std::forward<Map>(map), std::forward<Combine>(combine));
  }
  static_assert(std::is_integral_v<Index>, "tobi: parallel_reduce counts with an integer");
  using OwnMap = std::decay_t<Map>;
  using OwnCombine = std::decay_t<Combine>;
  detail::check_result<R>();
  detail::check_closure<OwnMap>();
  detail::check_closure<OwnCombine>();
  if (!(begin < end)) return identity;
  if (grain < 1) grain = Index{1};
  const OwnMap& given_map = map;
  const OwnCombine& given_combine = combine;
  return pieces::with_one_error([&]() -> R {
    const auto part = [at, begin, grain, identity, own_map = given_map, own = given_combine](std::size_t from,
                                                                                             std::size_t to) {
      const Index first = pieces::advanced(begin, from);
      const Index last = pieces::advanced(begin, to);
      return at.alone() ? pieces::reduce_each<R>(first, last, identity, own_map, own)
                        : pieces::reduce_halves<R>(first, last, grain, identity, own_map, own);
    };
    const auto all = pieces::fold_at_homes<R>(at, pieces::distance(begin, end), part, given_combine);
    return all ? *all : identity;
  });
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
