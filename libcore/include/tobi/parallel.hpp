// SPDX-License-Identifier: Apache-2.0
// Fork-join patterns over spawn and join. Functions are copied into each task, so they capture by value. Each pattern
// may migrate the caller. What a function throws leaves the pattern as task_error, wherever it was thrown, when all
// tasks of the pattern have ended. With TOBI_ELIDE the patterns run serially.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "tobi/detail/combining.hpp"
#include "tobi/detail/divide.hpp"
#include "tobi/detail/measured_pieces.hpp"
#include "tobi/detail/one_error.hpp"
#include "tobi/hint.hpp"
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
[[gnu::always_inline]] inline std::tuple<element_of<F>> invoke_all(const F& last) {
  F mine = last;
  if constexpr (std::is_void_v<detail::result_of<F>>) {
    mine();
    return {};
  } else {
    return std::tuple<element_of<F>>(mine());
  }
}
template <class F, class G, class... Rest>
[[gnu::always_inline]] inline std::tuple<element_of<F>, element_of<G>, element_of<Rest>...> invoke_all(
    const F& first, const G& second, const Rest&... rest) {
  auto child = spawn(first);
  auto others = invoke_all<G, Rest...>(second, rest...);
  if constexpr (std::is_void_v<detail::result_of<F>>) {
    child.join();
    return std::tuple_cat(std::tuple<std::monostate>(), std::move(others));
  } else {
    return std::tuple_cat(std::tuple<element_of<F>>(child.join()), std::move(others));
  }
}

#ifndef TOBI_ELIDE

/// Whether the functions F can be dealt out: the results of those that begin elsewhere come back together.
template <class... F>
inline constexpr bool can_be_dealt = detail::result_moves<std::tuple<element_of<F>...>>;

/// All functions, of which each one has a share of RANGE that is as large as its work.
template <class F>
std::tuple<element_of<F>> invoke_dealt(const detail::division& range, const std::array<double, 1>&, nested inside,
                                       const F& last) {
  return with_share(range, inside, [&] { return invoke_all<F>(last); });
}
template <class F, class G, class... Rest>
std::tuple<element_of<F>, element_of<G>, element_of<Rest>...> invoke_dealt(
    const detail::division& range, const std::array<double, 2 + sizeof...(Rest)>& work, nested inside, const F& first,
    const G& second, const Rest&... rest) {
  if (!range.spans()) {
    return with_share(range, inside, [&] { return invoke_all<F, G, Rest...>(first, second, rest...); });
  }
  std::array<double, 1 + sizeof...(Rest)> others{};
  double all_others = 0;
  for (std::size_t i = 0; i < others.size(); ++i) all_others += others[i] = work[i + 1];
  const double share = share_among(work[0], all_others, others.size());
  const detail::division right = range.part(share, 1);
  const bool at_home = detail::tobi_division_sends(&range, &right) != 0;
  auto there = spawn([=] {
    detail::tobi_division_go(&right);
    return invoke_dealt<G, Rest...>(right, others, nested::unknown, second, rest...);
  });
  const detail::division left = range.part(0, share);
  if (at_home) detail::tobi_division_go(&left);  // a thief has taken this task all the same
  auto mine = invoke_dealt<F>(left, {work[0]}, inside, first);
  return std::tuple_cat(std::move(mine), there.join());
}

/// The functions are alike.
struct all_alike {
  template <std::size_t N>
  [[nodiscard]] static std::array<double, N> of() noexcept {
    std::array<double, N> all{};
    all.fill(1);
    return all;
  }
};
/// The work of N functions.
template <std::size_t N>
struct told_work {
  std::array<double, N> each;
  template <std::size_t>
  [[nodiscard]] const std::array<double, N>& of() const noexcept {
    return each;
  }
};

/// All functions, among the workers that the caller has. Apart, and given copies of the functions, so that a caller
/// that has no workers to divide pays for a load and a branch, and its frame stays as small as it was.
template <class Work, class... F>
[[gnu::noinline, gnu::cold]] std::tuple<element_of<F>...> invoke_in_division(const Work& work, const F&... functions) {
  detail::division range;
  detail::tobi_division_get(&range);
  const within_division own(range);
  detail::tobi_division_go(&range);
  const bool was = detail::tobi_division_begins(&range) != 0;  // so that nobody takes what is about to be sent away
  return invoke_dealt<F...>(range, work.template of<sizeof...(F)>(), nested_if(was), functions...);
}

#else

struct all_alike {};
template <std::size_t N>
struct told_work {
  std::array<double, N> each;
};

#endif

/// invoke_all() of functions whose WORK may be known, among the workers that the caller has.
template <class Work, class... F>
std::tuple<element_of<F>...> invoke_shares([[maybe_unused]] const Work& work, const F&... functions) {
#ifndef TOBI_ELIDE
  if constexpr (sizeof...(F) > 1 && can_be_dealt<F...>) {
    if (divides()) return invoke_in_division<Work, F...>(Work(work), F(functions)...);
  }
#endif
  return invoke_all<F...>(functions...);
}

/// ONE and OTHER, which return nothing and are alike.
template <class One, class Other>
void in_both(const One& one, const Other& other) {
  if (divides()) {
    invoke_shares(all_alike{}, one, other);
    return;
  }
  auto first = spawn(one);
  other();
  first.join();
}

/// The functions among ARGUMENTS, by reference, in a tuple.
template <class T>
auto if_function(const T& argument) noexcept {
  if constexpr (is_hint<T>) {
    return std::tuple<>();
  } else {
    return std::tuple<const T&>(argument);
  }
}
/// The work of the functions among ARGUMENTS, of which there are N.
template <std::size_t N, class... Arguments>
told_work<N> work_of([[maybe_unused]] const Arguments&... arguments) noexcept {
  told_work<N> all{};
  std::size_t at = 0;
  double work = 1;
  [[maybe_unused]] const auto look = [&](const auto& argument) {
    if constexpr (is_hint<decltype(argument)>) {
      work = argument.work;
    } else {
      all.each[at++] = std::exchange(work, 1);
    }
  };
  (look(arguments), ...);
  return all;
}

/// A grain that a program names: at least 1.
template <std::integral Grain>
constexpr std::size_t grain_of(Grain grain) noexcept {
  return grain < 1 ? 1 : static_cast<std::size_t>(grain);
}
/// The grain of a loop for which none is named.
inline constexpr std::size_t measured_grain = 0;

// A body that always throws leaves recursions that do not end otherwise, and GCC 12 says so.
#pragma GCC diagnostic push
#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 12
#pragma GCC diagnostic ignored "-Winfinite-recursion"
#endif

template <class Index, class Body>
void for_halves(Index begin, Index end, std::size_t grain, const Body& body) {
  if (distance(begin, end) <= grain) {
    Body mine = body;
    for_each_index(begin, end, mine);
    return;
  }
  const Index middle = advanced(begin, distance(begin, end) / 2);
  auto left = spawn([=] { for_halves(begin, middle, grain, body); });
  for_halves(middle, end, grain, body);
  left.join();
}
/// [BEGIN, END) is not empty.
template <class Index, class Body>
void for_range(Index begin, Index end, std::size_t grain, const Body& body) {
  if (grain == measured_grain) {
    in_measured_tasks(begin, end, 1, loop_work<Body>{body});
  } else {
    for_halves(begin, end, grain, body);
  }
}

template <class R, class Index, class Map, class Combine>
R reduce_each(Index begin, Index end, const R& identity, const Map& map, const Combine& combine) {
  Combine mine = combine;
  Map mapped = map;
  if constexpr (std::is_invocable_v<Map&, Index>) {
    R value = identity;
    for (Index i = begin; i < end; ++i) value = mine(value, mapped(i));
    return value;
  } else {
    return mine(identity, mapped(begin, end));
  }
}
template <class R, class Index, class Map, class Combine>
R reduce_halves(Index begin, Index end, std::size_t grain, const R& identity, const Map& map, const Combine& combine) {
  if (distance(begin, end) <= grain) return reduce_each<R>(begin, end, identity, map, combine);
  Combine mine = combine;
  const Index middle = advanced(begin, distance(begin, end) / 2);
  auto left = spawn([=] { return reduce_halves<R>(begin, middle, grain, identity, map, combine); });
  const R right = reduce_halves<R>(middle, end, grain, identity, map, combine);
  return mine(left.join(), right);
}

/// A reduction's work, as in_measured_tasks() wants it.
template <class R, class Map, class Combine>
struct reduce_work {
  using value_type = R;
  R identity;
  [[no_unique_address]] Map map;
  [[no_unique_address]] Combine add;

  template <class Index>
  R serially(Index begin, Index end, std::size_t block) {
    const std::size_t n = distance(begin, end);
    if (n <= block) return reduce_each<R>(begin, end, identity, map, add);
    const Index middle = advanced(begin, n / 2);
    const R left = serially(begin, middle, block);
    return add(left, serially(middle, end, block));
  }
  R combine(const R& left, const R& right) { return add(left, right); }
};

/// What a reduction over N indices never splits: so many that there are at most 1024 parts.
constexpr std::size_t reduce_block(std::size_t n) noexcept { return (n + 1023) / 1024; }

/// [BEGIN, END) is not empty, and of a reduction whose BLOCK is never split.
template <class R, class Index, class Map, class Combine>
R reduce_range(Index begin, Index end, std::size_t block, std::size_t grain, const R& identity, const Map& map,
               const Combine& combine) {
  if (grain != measured_grain) return reduce_halves<R>(begin, end, grain, identity, map, combine);
  return in_measured_tasks(begin, end, block, reduce_work<R, Map, Combine>{identity, map, combine});
}

#pragma GCC diagnostic pop

/// What the program says of a loop from BEGIN on, of the numbers of its iterations.
template <class Index, class Work>
auto indices_of(Index begin, const work_hints<Work>& told) {
  return [begin, work = told.work](std::size_t lo, std::size_t hi) {
    Work of = work;
    return static_cast<double>(of(advanced(begin, lo), advanced(begin, hi)));
  };
}

/// Of a loop whose work the program does not say.
struct no_hints {};

/// for_range(), among the workers that the caller has.
template <class Index, class Body, class Told>
void for_shares(Index begin, Index end, std::size_t grain, const Body& body, const Told& told) {
  const std::size_t n = distance(begin, end), block = std::max<std::size_t>(grain, 1);
  if (n <= block || !divides()) {
    for_range(begin, end, grain, body);
    return;
  }
  const auto part = [=](std::size_t lo, std::size_t hi) {
    for_range(advanced(begin, lo), advanced(begin, hi), grain, body);
    return std::monostate();
  };
  if constexpr (std::is_same_v<Told, no_hints>) {
    in_shares<std::monostate>(n, block, part, nothing_combined{});
  } else {
    in_told_shares<std::monostate>(indices_of(begin, told), n, block, part, nothing_combined{});
  }
}
/// reduce_range(), among the workers that the caller has.
template <class R, class Index, class Map, class Combine, class Told>
R reduce_shares(Index begin, Index end, std::size_t grain, const R& identity, const Map& map, const Combine& combine,
                const Told& told) {
  const std::size_t n = distance(begin, end), block = grain == measured_grain ? reduce_block(n) : grain;
  if (n <= block || !divides()) return reduce_range<R>(begin, end, block, grain, identity, map, combine);
  const auto part = [=](std::size_t lo, std::size_t hi) {
    return reduce_range<R>(advanced(begin, lo), advanced(begin, hi), block, grain, identity, map, combine);
  };
  if constexpr (std::is_same_v<Told, no_hints>) {
    return in_shares<R>(n, block, part, combine);
  } else {
    return in_told_shares<R>(indices_of(begin, told), n, block, part, combine);
  }
}

/// Whether FUNCTION is the body of a loop over Index, or the map of a reduction.
template <class Function, class Index>
inline constexpr bool is_body = std::is_invocable_v<Function&, Index> || std::is_invocable_v<Function&, Index, Index>;
template <class Function, class Index>
constexpr void check_body() {
  static_assert(std::is_integral_v<Index>, "tobi: loops and reductions count with an integer");
  static_assert(is_body<Function, Index>,
                "tobi: the function of a loop or a reduction takes an index, or the two ends of a range of them");
}
/// The integers that a loop from a Begin to an End counts with: their common type. Where one of them is signed and the
/// other is not, a signed one of 64 bits: a negative begin stays what it is, and so does a large end (below 2^63).
template <class Begin, class End>
using index_between =
    std::conditional_t<std::is_signed_v<Begin> == std::is_signed_v<End>, std::common_type_t<Begin, End>, std::int64_t>;

/// Of a loop that begins where its caller is.
inline placement anywhere() { return {global_span<char>(), affinity::none}; }

/// A whole loop. AT says where it begins.
template <class Begin, class End, class Body, class Told = no_hints>
void loop(const placement& at, Begin begin, End end, std::size_t grain, const Body& body, const Told& told = {}) {
  using Index = index_between<Begin, End>;
  detail::check_closure<Body>();
  check_body<Body, Index>();
  if constexpr (detail::travels<Body> && is_body<Body, Index>) {
    const auto first = static_cast<Index>(begin);
    const auto last = static_cast<Index>(end);
    if (!(first < last)) return;
    with_one_error([&] {
      if (!at.at_owners()) {
        for_shares(first, last, grain, body, told);
        return;
      }
      const std::size_t n = distance(first, last);
      at_homes(at, 0, at.parts(), [at, first, grain, n, own = body](std::size_t piece) {
        const Index from = advanced(first, at.begin_of(piece, n));
        const Index to = advanced(first, at.begin_of(piece + 1, n));
        if (from < to) for_range(from, to, at.alone() ? n : grain, own);
      });
    });
  }
}

/// A whole reduction. AT says where it begins.
template <class R, class Begin, class End, class Map, class Combine, class Told = no_hints>
R reduction(const placement& at, Begin begin, End end, std::size_t grain, const R& identity, const Map& map,
            const Combine& combine, const Told& told = {}) {
  using Index = index_between<Begin, End>;
  detail::check_result<R>();
  detail::check_closure<Map>();
  detail::check_closure<Combine>();
  constexpr bool all_travel = detail::travels<R> && detail::travels<Map> && detail::travels<Combine>;
  constexpr bool combines = detail::combines<Combine, R>;
  static_assert(
      !all_travel || combines,
      "tobi: parallel_reduce(begin, end, identity, map, combine): combine, which comes last, takes two values "
      "of the identity's type and returns one, and map takes an index");
  if constexpr (all_travel && combines) check_body<Map, Index>();
  if constexpr (all_travel && combines && is_body<Map, Index>) {
    const auto first = static_cast<Index>(begin);
    const auto last = static_cast<Index>(end);
    if (!(first < last)) return identity;
    return with_one_error([&]() -> R {
      if (!at.at_owners()) return reduce_shares<R>(first, last, grain, identity, map, combine, told);
      const std::size_t n = distance(first, last);
      const auto part = [at, first, grain, n, identity, own_map = map, own = combine](std::size_t from,
                                                                                      std::size_t to) {
        return reduce_range<R>(advanced(first, from), advanced(first, to), reduce_block(to - from),
                               at.alone() ? n : grain, identity, own_map, own);
      };
      const auto all = fold_at_homes<R>(at, n, part, combine);
      return all ? *all : identity;
    });
  } else {
    return identity;  // the compiler has said why not
  }
}

/// A whole parallel_invoke().
template <class Work, class... F>
std::tuple<element_of<F>...> invoke_checked(const Work& work, const F&... functions) {
  (detail::check_closure<F>(), ...);
  (detail::check_moved_result<detail::result_of<F>>(), ...);
  constexpr bool all_move = ((detail::travels<F> && detail::result_moves<detail::result_of<F>>)&&...);
  if constexpr (sizeof...(F) == 0 || !all_move) {
    return {};
  } else {
    return with_one_error([&] { return invoke_shares(work, functions...); });
  }
}

}  // namespace pieces

/// Runs all FUNCTIONS, the last one in the caller, and returns when all have. Returns the tuple of their results, with
/// std::monostate for a function that returns nothing. Results are migratable.
/// @code
/// const long area = tobi::run([] {
///   const auto [width, height] = tobi::parallel_invoke([] { return 6L; }, [] { return 7L; });
///   return width * height;
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", area);  // prints 42
/// @endcode
template <class... Functions>
std::tuple<pieces::element_of<std::decay_t<Functions>>...> parallel_invoke(Functions&&... functions) {
  return pieces::invoke_checked<pieces::all_alike, std::decay_t<Functions>...>({}, functions...);
}
/// The same, where a hint() says how much work the function behind it is.
template <class... Arguments>
requires(pieces::is_hint<Arguments> || ...) auto parallel_invoke(Arguments&&... arguments) {
  return std::apply(
      [&]<class... Functions>(const Functions&... functions) {
        return pieces::invoke_checked(pieces::work_of<sizeof...(Functions)>(arguments...), functions...);
      },
      std::tuple_cat(pieces::if_function(arguments)...));
}

/// body(i) for each i of [begin, end), or body(first, last) for the parts of it that are executed one after the other:
/// then the loop over the indices is the body's own, which may keep values between them. Tasks are as large as is worth
/// a fork: how long an index takes is measured. Name a grain where most indices cost nothing and some cost much, as in
/// a body that returns at once for most. The body gets the common type of BEGIN and END. Where one of them is signed
/// and the other is not, it gets a signed one of 64 bits: a negative begin stays what it is, and so does a large end
/// (below 2^63).
/// @code
/// const auto squares = tobi::allocate_all<long>(1000);
/// const long sum = tobi::run([=] {
///   tobi::parallel_for(0, squares.size(), [=](long i) { squares[i] = i * i; });
///   return tobi::reduce(squares);
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 332833500
/// @endcode
template <std::integral Begin, std::integral End, class Body>
void parallel_for(Begin begin, End end, const Body& body) {
  pieces::loop<Begin, End, std::decay_t<Body>>(pieces::anywhere(), begin, end, pieces::measured_grain, body);
}
/// The same in tasks of at most GRAIN iterations (at least 1), split in halves.
template <std::integral Begin, std::integral End, std::integral Grain, class Body>
void parallel_for(Begin begin, End end, Grain grain, const Body& body) {
  pieces::loop<Begin, End, std::decay_t<Body>>(pieces::anywhere(), begin, end, pieces::grain_of(grain), body);
}
/// The same, where AT says which worker begins what: see on().
template <std::integral Begin, std::integral End, class Body>
void parallel_for(const placement& at, Begin begin, End end, const Body& body) {
  pieces::loop<Begin, End, std::decay_t<Body>>(at, begin, end, pieces::measured_grain, body);
}
/// The same with both. With affinity::owner_computes GRAIN has no effect.
template <std::integral Begin, std::integral End, std::integral Grain, class Body>
void parallel_for(const placement& at, Begin begin, End end, Grain grain, const Body& body) {
  pieces::loop<Begin, End, std::decay_t<Body>>(at, begin, end, pieces::grain_of(grain), body);
}

/// The same, where TOLD says how much work which iterations are: see hints().
template <class Work, std::integral Begin, std::integral End, class Body>
void parallel_for(const work_hints<Work>& told, Begin begin, End end, const Body& body) {
  pieces::loop<Begin, End, std::decay_t<Body>>(pieces::anywhere(), begin, end, pieces::measured_grain, body, told);
}
/// The same with both.
template <class Work, std::integral Begin, std::integral End, std::integral Grain, class Body>
void parallel_for(const work_hints<Work>& told, Begin begin, End end, Grain grain, const Body& body) {
  pieces::loop<Begin, End, std::decay_t<Body>>(pieces::anywhere(), begin, end, pieces::grain_of(grain), body, told);
}

/// Returns map(i), combined by COMBINE for each i of [begin, end); or map(first, last) of parts of it, for a map that
/// takes two indices. MAP comes before COMBINE here, and behind it in transform_reduce() and reduce_chunks(). Returns
/// IDENTITY for an empty range. COMBINE must be associative. The order of the operands is the order of the indices.
/// Tasks are as large as is worth a fork. How operands are grouped depends on the number of indices alone, so a sum of
/// floating-point numbers is the same in each run and on any number of workers.
/// @code
/// const double pi = tobi::run([] {
///   const auto term = [](int i) { return (i % 2 == 0 ? 4.0 : -4.0) / (2 * i + 1); };
///   return tobi::parallel_reduce(0, 1000000, 0.0, term, [](double a, double b) { return a + b; });
/// });
/// if (rt.rank() == 0) std::printf("%.5f\n", pi);  // prints 3.14159
/// @endcode
template <std::integral Begin, std::integral End, class R, class Map, class Combine>
R parallel_reduce(Begin begin, End end, const R& identity, const Map& map, const Combine& combine) {
  return pieces::reduction<R, Begin, End, std::decay_t<Map>, std::decay_t<Combine>>(
      pieces::anywhere(), begin, end, pieces::measured_grain, identity, map, combine);
}
/// The same in tasks of at most GRAIN indices (at least 1), split in halves. Each part of that size is combined by
/// itself, from IDENTITY on.
template <std::integral Begin, std::integral End, std::integral Grain, class R, class Map, class Combine>
R parallel_reduce(Begin begin, End end, Grain grain, const R& identity, const Map& map, const Combine& combine) {
  return pieces::reduction<R, Begin, End, std::decay_t<Map>, std::decay_t<Combine>>(
      pieces::anywhere(), begin, end, pieces::grain_of(grain), identity, map, combine);
}
/// The same, where AT says which worker begins what: see on(). The grouping depends on the memory's owners, too.
template <std::integral Begin, std::integral End, class R, class Map, class Combine>
R parallel_reduce(const placement& at, Begin begin, End end, const R& identity, const Map& map,
                  const Combine& combine) {
  return pieces::reduction<R, Begin, End, std::decay_t<Map>, std::decay_t<Combine>>(
      at, begin, end, pieces::measured_grain, identity, map, combine);
}
/// The same with both.
template <std::integral Begin, std::integral End, std::integral Grain, class R, class Map, class Combine>
R parallel_reduce(const placement& at, Begin begin, End end, Grain grain, const R& identity, const Map& map,
                  const Combine& combine) {
  return pieces::reduction<R, Begin, End, std::decay_t<Map>, std::decay_t<Combine>>(
      at, begin, end, pieces::grain_of(grain), identity, map, combine);
}

/// The same, where TOLD says how much work which indices are: see hints().
template <class Work, std::integral Begin, std::integral End, class R, class Map, class Combine>
R parallel_reduce(const work_hints<Work>& told, Begin begin, End end, const R& identity, const Map& map,
                  const Combine& combine) {
  return pieces::reduction<R, Begin, End, std::decay_t<Map>, std::decay_t<Combine>>(
      pieces::anywhere(), begin, end, pieces::measured_grain, identity, map, combine, told);
}
/// The same with both.
template <class Work, std::integral Begin, std::integral End, std::integral Grain, class R, class Map, class Combine>
R parallel_reduce(const work_hints<Work>& told, Begin begin, End end, Grain grain, const R& identity, const Map& map,
                  const Combine& combine) {
  return pieces::reduction<R, Begin, End, std::decay_t<Map>, std::decay_t<Combine>>(
      pieces::anywhere(), begin, end, pieces::grain_of(grain), identity, map, combine, told);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
