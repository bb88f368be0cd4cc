// SPDX-License-Identifier: Apache-2.0
// Prefix sums: inclusive_scan, exclusive_scan, and both of what a function makes of the elements; adjacent_difference
// undoes them. There are two passes: the sum of each leaf but the last, then the prefix
// sums of these, and the leaves again, each with what is before it. Work O(n), depth O(log n) for each of the levels
// (there are log n / log cutoff) and a leaf. The operands keep their order, so the operation must be associative and
// nothing else. IN is read (twice), OUT written. OUT may be IN itself, and must not overlap it otherwise. OUT is at
// least as long as IN, or a std::length_error is thrown. A sum for each leaf is allocated in the heap of the worker
// that runs the caller. May migrate the caller, which holds no checkout. The operation does not fork. What it throws
// leaves as task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>

#include "tobi/algorithm/for_each.hpp"
#include "tobi/algorithm/reduce.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// What scans of the elements themselves add up.
template <class R>
struct as_it_is {
  template <class T>
  R operator()(const T& x) const {
    return static_cast<R>(x);
  }
};

/// The part [begin, end), with BEFORE in front of it, if there is something. An exclusive scan always has that.
template <bool Inclusive, class In, class R, class Combine, class Map>
void scan_leaf(const execution_policy& how, std::size_t begin, std::size_t end, global_span<In> in, global_span<R> out,
               std::optional<R> before, Combine combine, Map map) {
  const auto body = [&](std::size_t, std::size_t n, const In* from, R* to) {
    std::size_t i = 0;
    if constexpr (Inclusive) {
      if (!before) {
        before.emplace(map(from[0]));
        to[0] = *before;
        i = 1;
      }
    }
    R so_far = *before;
    for (; i < n; ++i) {
      const R next = combine(so_far, map(from[i]));
      to[i] = Inclusive ? next : so_far;
      so_far = next;
    }
    before.emplace(so_far);
  };
  sweep(how, begin, end, body, input(in), output<R>{out});
}

template <bool Inclusive, class In, class R, class Combine, class Map = as_it_is<R>>
void scan(const execution_policy& how, global_span<In> in, global_span<R> out, std::optional<R> before, Combine combine,
          Map map = {}) {
  static_assert(detail::travels<R>, "tobi: what a scan makes must have a trivial copy constructor and destructor");
  const std::size_t cutoff = std::max<std::size_t>(2, cutoff_of<In, R>(how));
  if (in.size() <= cutoff) {
    scan_leaf<Inclusive>(how, 0, in.size(), in, out, before, combine, map);
    return;
  }
  const std::size_t size = in.size();
  const std::size_t leaves = (size - 1) / cutoff + 1;
  const placement at = home_of(how, cutoff, size, input(in), output<R>{out});
  const scratch<R> memory(leaves - 1);
  const global_span<R> sums = memory.span();
  const execution_policy serially{.cutoff = seq.cutoff, .checkout_bytes = how.checkout_bytes};
  in_tasks_at(at, leaves, 1, [=](std::size_t first, std::size_t last) {
    for (std::size_t leaf = first; leaf < std::min(last, leaves - 1); ++leaf) {
      const R sum = fold<R>(serially, leaf * cutoff, (leaf + 1) * cutoff, map, combine, input(in));
      store(&sums[leaf], sum);
    }
  });
  scan<true>(how, sums, sums, before, combine);
  in_tasks_at(at, leaves, 1, [=](std::size_t first, std::size_t last) {
    const std::size_t begin = first * cutoff;
    const std::size_t end = last == leaves ? size : last * cutoff;
    const std::optional<R> mine = first == 0 ? before : std::optional<R>(load(&sums[first - 1]));
    scan_leaf<Inclusive>(how, begin, end, in, out, mine, combine, map);
  });
}

}  // namespace pieces

/// Does out[i] = combine(... combine(combine(INITIAL, in[0]), in[1]) ..., in[i]).
template <class In, class R, class Combine>
void inclusive_scan(const execution_policy& how, global_span<In> in, global_span<R> out, Combine combine,
                    const std::type_identity_t<R>& initial) {
  pieces::check_sizes("inclusive_scan", in.size(), out.size());
  pieces::with_one_error([&] { pieces::scan<true>(how, in, out, std::optional<R>(initial), combine); });
}
/// The same without an initial value: out[0] = in[0].
template <class In, class R, class Combine = std::plus<>>
void inclusive_scan(const execution_policy& how, global_span<In> in, global_span<R> out, Combine combine = {}) {
  pieces::check_sizes("inclusive_scan", in.size(), out.size());
  pieces::with_one_error([&] { pieces::scan<true>(how, in, out, std::optional<R>(), combine); });
}
/// The same with par.
template <class In, class R, class Combine>
void inclusive_scan(global_span<In> in, global_span<R> out, Combine combine, const std::type_identity_t<R>& initial) {
  tobi::inclusive_scan(par, in, out, combine, initial);
}
/// The same with par.
template <class In, class R, class Combine = std::plus<>>
void inclusive_scan(global_span<In> in, global_span<R> out, Combine combine = {}) {
  tobi::inclusive_scan(par, in, out, combine);
}

/// Does out[0] = INITIAL, out[i] = combine(... combine(INITIAL, in[0]) ..., in[i - 1]).
template <class In, class R, class Combine = std::plus<>>
void exclusive_scan(const execution_policy& how, global_span<In> in, global_span<R> out,
                    const std::type_identity_t<R>& initial, Combine combine = {}) {
  pieces::check_sizes("exclusive_scan", in.size(), out.size());
  pieces::with_one_error([&] { pieces::scan<false>(how, in, out, std::optional<R>(initial), combine); });
}
/// The same with par.
template <class In, class R, class Combine = std::plus<>>
void exclusive_scan(global_span<In> in, global_span<R> out, const std::type_identity_t<R>& initial,
                    Combine combine = {}) {
  tobi::exclusive_scan(par, in, out, initial, combine);
}

/// An inclusive_scan() of map(element). INITIAL comes first where it is given.
/// @code
/// const auto words = tobi::allocate_all<int>(10);
/// const auto ends = tobi::allocate_all<long>(10);
/// const long last = tobi::run([=] {
///   tobi::iota(words, 0);
///   tobi::transform_inclusive_scan(words, ends, std::plus<>(), [](int length) { return length + 1L; });
///   return long{ends[9]};
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", last);  // prints 55
/// @endcode
template <class In, class R, class Combine, class Map>
void transform_inclusive_scan(const execution_policy& how, global_span<In> in, global_span<R> out, Combine combine,
                              Map map) {
  pieces::check_sizes("transform_inclusive_scan", in.size(), out.size());
  pieces::with_one_error([&] { pieces::scan<true>(how, in, out, std::optional<R>(), combine, map); });
}
/// The same with par.
template <class In, class R, class Combine, class Map>
void transform_inclusive_scan(global_span<In> in, global_span<R> out, Combine combine, Map map) {
  tobi::transform_inclusive_scan(par, in, out, combine, map);
}
/// The same with INITIAL in front.
template <class In, class R, class Combine, class Map>
void transform_inclusive_scan(const execution_policy& how, global_span<In> in, global_span<R> out, Combine combine,
                              Map map, const std::type_identity_t<R>& initial) {
  pieces::check_sizes("transform_inclusive_scan", in.size(), out.size());
  pieces::with_one_error([&] { pieces::scan<true>(how, in, out, std::optional<R>(initial), combine, map); });
}
/// The same with par.
template <class In, class R, class Combine, class Map>
void transform_inclusive_scan(global_span<In> in, global_span<R> out, Combine combine, Map map,
                              const std::type_identity_t<R>& initial) {
  tobi::transform_inclusive_scan(par, in, out, combine, map, initial);
}
/// An exclusive_scan() of map(element).
template <class In, class R, class Combine, class Map>
void transform_exclusive_scan(const execution_policy& how, global_span<In> in, global_span<R> out,
                              const std::type_identity_t<R>& initial, Combine combine, Map map) {
  pieces::check_sizes("transform_exclusive_scan", in.size(), out.size());
  pieces::with_one_error([&] { pieces::scan<false>(how, in, out, std::optional<R>(initial), combine, map); });
}
/// The same with par.
template <class In, class R, class Combine, class Map>
void transform_exclusive_scan(global_span<In> in, global_span<R> out, const std::type_identity_t<R>& initial,
                              Combine combine, Map map) {
  tobi::transform_exclusive_scan(par, in, out, initial, combine, map);
}

/// Does out[0] = in[0], out[i] = function(in[i], in[i - 1]): the steps of which inclusive_scan() makes IN again. OUT is
/// at least as long as IN, or a std::length_error is thrown, and does not overlap it. One pass.
template <class In, class Out, class F = std::minus<>>
void adjacent_difference(const execution_policy& how, global_span<In> in, global_span<Out> out,
                         const F& function = {}) {
  pieces::check_sizes("adjacent_difference", in.size(), out.size());
  if (in.empty()) return;
  tobi::copy(seq, in.first(1), out);
  tobi::transform(how, in.subspan(1), in.first(in.size() - 1), out.subspan(1), function);
}
/// The same with par.
template <class In, class Out, class F = std::minus<>>
void adjacent_difference(global_span<In> in, global_span<Out> out, const F& function = {}) {
  tobi::adjacent_difference(par, in, out, function);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
