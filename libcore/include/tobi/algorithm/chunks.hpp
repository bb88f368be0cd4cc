// SPDX-License-Identifier: Apache-2.0
// Loops over several ranges at once whose body gets the memory itself: for_chunks, reduce_chunks. The body is called
// for parts of the ranges that are checked out together, and has the innermost loop: over pointers to contiguous
// elements that overlap nothing else, which a compiler can vectorise.
//
//   tobi::for_chunks(tobi::in(p), tobi::inout(x), [=](std::size_t, std::size_t n, const double* p, double* x) {
//     for (std::size_t i = 0; i < n; ++i) x[i] += alpha * p[i];
//   });
//
// Each range says how it is used: in() is read, out() written, inout() both. An index is one element, or a row of
// several: in(a, width). A range that is read may have a halo of so many indices on each side: in(a, width, 1) for a
// stencil. A body is called as
//
//   body(first, n, pointer...)
//
// for the indices [first, first + n). Each pointer leads to index FIRST of its range. Behind a halo of h, the indices
// [first - h, first + n + h) may be read, as far as the range has them.
//
// May migrate the caller, which holds no checkout. A body neither forks nor joins, but may check out more. It is copied
// into tasks, so it captures by value. What it throws leaves as task_error. A range that is shorter than the first one
// is a std::length_error. A range that is written and overlaps another one is a std::invalid_argument. An index of each
// range, with its halo, must fit into the cache.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "tobi/algorithm/policy.hpp"
#include "tobi/detail/combining.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// A range as a chunk loop uses it: PER elements per index.
template <access How, class T>
struct rows {
  using pointer = T*;
  global_span<T> all;
  std::size_t per;
  std::size_t halo;

  [[nodiscard]] std::size_t size() const noexcept { return all.size() / per; }
  [[nodiscard]] std::size_t chunk_at(const execution_policy& how, std::size_t i) const {
    return std::max<std::size_t>(1, chunk_bytes_at(how, &all[i * per]) / (sizeof(T) * per));
  }
  /// How many indices before I may be read.
  [[nodiscard]] std::size_t before(std::size_t i) const noexcept { return std::min(halo, i); }
  [[nodiscard]] auto open(std::size_t i, std::size_t n) const {
    const std::size_t after = std::min(halo, size() - i - n);
    return checkout_nb(all.subspan((i - before(i)) * per, (before(i) + n + after) * per), mode::tag<How>{});
  }
  template <class Open>
  [[nodiscard]] T* at(Open& part, std::size_t i) const {
    return part.data() + before(i) * per;
  }
  [[nodiscard]] global_span<T> first(std::size_t n) const { return all.first(n * per); }

  /// Indices of a leaf. A wide halo is worth a large one.
  [[nodiscard]] std::size_t cutoff(const execution_policy& how) const noexcept {
    if (how.cutoff != 0) return how.cutoff;
    return std::max({cutoff_of<T>(how) / per, 4 * halo, std::size_t{1}});
  }
  /// Whether one of the two is written where the other lies.
  template <access Other, class U>
  [[nodiscard]] bool disturbs(const rows<Other, U>& other) const noexcept {
    if ((How == access::read && Other == access::read) || all.empty() || other.all.empty()) return false;
    const auto begin_of = [](const auto& span) { return reinterpret_cast<std::uintptr_t>(span.data().raw()); };
    return begin_of(all) < begin_of(other.all) + other.all.size() * sizeof(U) &&
           begin_of(other.all) < begin_of(all) + all.size() * sizeof(T);
  }
};

/// Whether FUNCTION takes chunks of RANGE.
template <class Function, class... Range>
inline constexpr bool takes_chunks =
    std::is_invocable_v<Function&, std::size_t, std::size_t, typename Range::pointer...>;
template <class Function, class... Range>
constexpr void check_chunk_function() {
  detail::check_closure<Function>();
  static_assert(takes_chunks<Function, Range...>,
                "tobi: the function of a chunk loop is called with the first index, their number, and a pointer per "
                "range, to const where it is in()");
}

template <class T>
inline constexpr bool is_rows = false;
template <access How, class T>
inline constexpr bool is_rows<rows<How, T>> = true;

inline std::size_t check_per(std::size_t per) {
  if (per == 0) throw std::invalid_argument("tobi: a range of a chunk loop has 0 elements per index");
  return per;
}
inline bool disturbed() noexcept { return false; }
template <class Range, class... Others>
bool disturbed(const Range& one, const Others&... others) noexcept {
  return (one.disturbs(others) || ...) || disturbed(others...);
}
/// How many indices a chunk loop has.
template <class Range, class... Others>
std::size_t size_of_rows(const char* name, const Range& first, const Others&... others) {
  (check_sizes(name, first.size(), others.size()), ...);
  if (disturbed(first, others...)) {
    throw std::invalid_argument(std::string("tobi::") + name +
                                ": a range that is written overlaps another one; one that is read and written is given "
                                "once, as inout()");
  }
  return first.size();
}

/// The pointers of a chunk lead to different memory, so that a compiler need not ask.
template <class Body, class... T>
decltype(auto) call_for_chunk(Body& body, std::size_t first, std::size_t n, T* __restrict... at) {
  return body(first, n, at...);
}

/// A chunk loop's work, as in_measured_tasks() wants it.
template <class Body, class... Range>
struct chunk_work {
  using value_type = std::monostate;
  execution_policy how;
  std::tuple<Range...> ranges;
  [[no_unique_address]] Body body;

  std::monostate serially(std::size_t begin, std::size_t end, std::size_t) {
    const auto chunk = [this](std::size_t first, std::size_t n, auto*... at) { call_for_chunk(body, first, n, at...); };
    std::apply([&](const Range&... each) { sweep(how, begin, end, chunk, each...); }, ranges);
    return {};
  }
  static std::monostate combine(std::monostate, std::monostate) noexcept { return {}; }
};

template <class Body, class... Range>
void chunk_loop(const execution_policy& how, const Body& body, const Range&... ranges) {
  const std::size_t size = size_of_rows("for_chunks", ranges...);
  const std::size_t cutoff = std::min({ranges.cutoff(how)...});
  const chunk_work<Body, Range...> work{how, {ranges...}, body};
  const auto part = [=](std::size_t begin, std::size_t end, bool alone) {
    if (begin == end) return;
    if (how.cutoff == 0 && !alone) {
      // A sixteenth of the usual leaf is the least that is worth its checkouts.
      in_measured_tasks(begin, end, (cutoff + 15) / 16, work);
    } else {
      in_tasks(begin, end, alone ? end - begin : cutoff, [=](std::size_t from, std::size_t to) {
        auto mine = work;
        mine.serially(from, to, 1);
      });
    }
  };
  with_one_error([&] {
    const placement at = home_of(how, cutoff, size, ranges...);
    if (!at.at_owners()) {
      if (size <= cutoff || !divides()) {
        part(0, size, false);
        return;
      }
      const auto share = [=](std::size_t begin, std::size_t end) {
        part(begin, end, false);
        return std::monostate();
      };
      in_shares<std::monostate>(size, cutoff, share, nothing_combined{});
      return;
    }
    at_homes(at, 0, at.parts(),
             [=](std::size_t piece) { part(at.begin_of(piece, size), at.begin_of(piece + 1, size), at.alone()); });
  });
}

/// A part of a chunk reduction, which is not empty.
template <class R, class Map, class Combine, class... Range>
R fold_chunks(const execution_policy& how, std::size_t begin, std::size_t end, std::size_t cutoff, const Map& map_given,
              const Combine& combine_given, const Range&... ranges) {
  Map map = map_given;
  Combine combine = combine_given;
  if (end - begin <= cutoff) {
    std::optional<R> value;  // of the chunks that have been
    const auto chunk = [&](std::size_t first, std::size_t n, auto*... at) {
      const R next = call_for_chunk(map, first, n, at...);
      const std::optional<R> before = value;
      value.reset();
      value.emplace(before ? combine(*before, next) : next);
    };
    sweep(how, begin, end, chunk, ranges...);
    return *value;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  auto left = spawn([=] { return fold_chunks<R, Map, Combine>(how, begin, middle, cutoff, map, combine, ranges...); });
  const R right = fold_chunks<R, Map, Combine>(how, middle, end, cutoff, map, combine, ranges...);
  return combine(left.join(), right);
}

template <class R, class Map, class Combine, class... Range>
R chunk_reduction(const execution_policy& how, const R& initial, const Combine& combine, const Map& map,
                  const Range&... ranges) {
  const std::size_t size = size_of_rows("reduce_chunks", ranges...);
  if (size == 0) return initial;
  return with_one_error([&]() -> R {
    const std::size_t usual = std::min({ranges.cutoff(how)...});
    const placement at = home_of(how, usual, size, ranges...);
    const std::size_t cutoff = at.alone() ? size : usual;
    const auto part = [=](std::size_t begin, std::size_t end) {
      return fold_chunks<R, Map, Combine>(how, begin, end, cutoff, map, combine, ranges...);
    };
    Combine mine = combine;
    return mine(initial, at.at_owners()               ? *fold_at_homes<R>(at, size, part, combine)
                         : size > cutoff && divides() ? in_shares<R>(size, cutoff, part, combine)
                                                      : part(0, size));
  });
}

/// Of ARGUMENTS arguments all but the last OTHERS; none where there are not as many.
template <std::size_t Arguments, std::size_t Others>
using ranges_of = std::make_index_sequence<(Arguments > Others ? Arguments - Others : 0)>;
/// Whether the elements I of a tuple are ranges, and there are some.
template <class Tuple, std::size_t... I>
constexpr bool ranges_first(std::index_sequence<I...>) {
  return sizeof...(I) != 0 && (is_rows<std::remove_cvref_t<std::tuple_element_t<I, Tuple>>> && ...);
}

template <class Tuple, std::size_t... I>
void chunk_loop_of(const execution_policy& how, const Tuple& all, std::index_sequence<I...> ranges) {
  static_assert(ranges_first<Tuple>(ranges),
                "tobi: for_chunks(ranges..., body): each range is in(a), out(a) or inout(a), and the body comes last");
  if constexpr (ranges_first<Tuple>(std::index_sequence<I...>())) {
    using Body = std::decay_t<std::tuple_element_t<sizeof...(I), Tuple>>;
    check_chunk_function<Body, std::remove_cvref_t<std::tuple_element_t<I, Tuple>>...>();
    if constexpr (detail::travels<Body> && takes_chunks<Body, std::remove_cvref_t<std::tuple_element_t<I, Tuple>>...>) {
      chunk_loop<Body>(how, std::get<sizeof...(I)>(all), std::get<I>(all)...);
    }
  }
}
template <class Tuple, std::size_t... I>
auto chunk_reduction_of(const execution_policy& how, const Tuple& all, std::index_sequence<I...> ranges) {
  static_assert(ranges_first<Tuple>(ranges),
                "tobi: reduce_chunks(ranges..., initial, combine, map): each range is in(a), out(a) or inout(a)");
  if constexpr (ranges_first<Tuple>(std::index_sequence<I...>())) {
    constexpr std::size_t k = sizeof...(I);
    using R = std::decay_t<std::tuple_element_t<k, Tuple>>;
    using Combine = std::decay_t<std::tuple_element_t<k + 1, Tuple>>;
    using Map = std::decay_t<std::tuple_element_t<k + 2, Tuple>>;
    detail::check_result<R>();
    detail::check_closure<Combine>();
    constexpr bool travel = detail::travels<R> && detail::travels<Combine>;
    constexpr bool combines = detail::combines<Combine, R>;
    static_assert(
        !travel || combines,
        "tobi: reduce_chunks(ranges..., initial, combine, map): combine takes two values of the initial one's "
        "type and returns one, and map, which comes last, takes a chunk");
    if constexpr (travel && combines)
      check_chunk_function<Map, std::remove_cvref_t<std::tuple_element_t<I, Tuple>>...>();
    if constexpr (!travel || !combines || !detail::travels<Map> ||
                  !takes_chunks<Map, std::remove_cvref_t<std::tuple_element_t<I, Tuple>>...>) {
      return std::get<k>(all);
    } else {
      return chunk_reduction<R, Map, Combine>(how, std::get<k>(all), std::get<k + 1>(all), std::get<k + 2>(all),
                                              std::get<I>(all)...);
    }
  }
}

}  // namespace pieces

/// A is read, PER elements per index, with a HALO of so many indices on each side.
template <class T>
[[nodiscard]] pieces::rows<access::read, const T> in(global_span<T> a, std::size_t per = 1, std::size_t halo = 0) {
  return {a, pieces::check_per(per), halo};
}
/// A is written: every element of it. Elements that own something must be what they were before.
template <class T>
[[nodiscard]] pieces::rows<pieces::assigned<T>, T> out(global_span<T> a, std::size_t per = 1) {
  return {a, pieces::check_per(per), 0};
}
/// A is read and written.
template <class T>
[[nodiscard]] pieces::rows<access::read_write, T> inout(global_span<T> a, std::size_t per = 1) {
  return {a, pieces::check_per(per), 0};
}

/// for_chunks(ranges..., body), or for_chunks(policy, ranges..., body): see the top of this header. Tasks are as large
/// as is worth a fork, which is measured, unless the policy has a cutoff (in indices).
/// @code
/// const auto x = tobi::allocate_all<double>(1000);
/// const auto y = tobi::allocate_all<double>(1000);
/// const double sum = tobi::run([=] {
///   tobi::iota(x, 0.0);
///   const auto curvature = [](std::size_t first, std::size_t n, const double* a, double* b) {
///     for (std::size_t i = 0; i < n; ++i) {
///       const bool edge = first + i == 0 || first + i == 999;
///       b[i] = edge ? 0 : a[i - 1] - 2 * a[i] + a[i + 1] + 1;
///     }
///   };
///   tobi::for_chunks(tobi::in(x, 1, 1), tobi::out(y), curvature);
///   return tobi::reduce(y);
/// });
/// if (rt.rank() == 0) std::printf("%.0f\n", sum);  // prints 998
/// @endcode
template <class First, class... Rest>
void for_chunks(const First& first, const Rest&... rest) {
  if constexpr (std::is_same_v<First, execution_policy>) {
    pieces::chunk_loop_of(first, std::tie(rest...), pieces::ranges_of<sizeof...(Rest), 1>());
  } else {
    pieces::chunk_loop_of(par, std::tie(first, rest...), pieces::ranges_of<sizeof...(Rest) + 1, 1>());
  }
}

/// reduce_chunks(ranges..., initial, combine, map), or with a policy before them. MAP is the body, and returns a value
/// of INITIAL's type for its chunk. It comes behind COMBINE here, and before it in parallel_reduce(). Returns the
/// values combined in the order of the chunks, INITIAL first. COMBINE must be associative. How values are grouped
/// depends on the sizes, the policy, the owners and the cache's settings, and on nothing else.
/// @code
/// const auto x = tobi::allocate_all<double>(1000);
/// const auto y = tobi::allocate_all<double>(1000);
/// const double dot = tobi::run([=] {
///   tobi::fill(x, 2.0);
///   tobi::fill(y, 0.5);
///   const auto product = [](std::size_t, std::size_t n, const double* a, const double* b) {
///     double sum = 0;
///     for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
///     return sum;
///   };
///   return tobi::reduce_chunks(tobi::in(x), tobi::in(y), 0.0, std::plus<>(), product);
/// });
/// if (rt.rank() == 0) std::printf("%.0f\n", dot);  // prints 1000
/// @endcode
template <class First, class... Rest>
[[nodiscard]] auto reduce_chunks(const First& first, const Rest&... rest) {
  if constexpr (std::is_same_v<First, execution_policy>) {
    return pieces::chunk_reduction_of(first, std::tie(rest...), pieces::ranges_of<sizeof...(Rest), 3>());
  } else {
    return pieces::chunk_reduction_of(par, std::tie(first, rest...), pieces::ranges_of<sizeof...(Rest) + 1, 3>());
  }
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
