// SPDX-License-Identifier: Apache-2.0
// The first element that matches: find, find_if, adjacent_find, and the questions all_of, any_of, none_of. The range is
// searched in parts, each twice as long as the one before it and searched in parallel, until one has a match. So a
// match at index i costs O(i) work, and O(log^2 i) depth and a leaf. Within a part a leaf stops at its own first match.
// Leaves after it do not know of that. Where the range lies on several nodes, its owners search their parts at once: a
// match at index i of a part costs O(i) work of each owner. Ranges are read. May migrate the caller, which holds no
// checkout. Predicates do not fork. What one throws leaves as task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <functional>
#include <type_traits>

#include "tobi/algorithm/reduce.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// The same by the owners of the data, all at once: each searches the first 16 leaves of its part, then twice as many,
/// and so on. When one has a match at i, only what is before i is searched on. SEARCH(search, begin, end, leaf) is the
/// first match of [begin, end), or SIZE.
template <class Search>
std::size_t first_match_at(const placement& at, std::size_t size, std::size_t cutoff, const Search& search) {
  std::size_t n = 16 * cutoff;
  std::size_t found = size;
  std::size_t searched = 0;  // of each part
  const auto left = [&] {    // of a part, at most
    std::size_t most = 0;
    for (std::size_t p = 0; p < at.size() && at.begin_of(p, size) < found; ++p) {
      most = std::max(most, std::min(at.begin_of(p + 1, size), found) - at.begin_of(p, size));
    }
    return most > searched;
  };
  for (; left(); searched += n, n *= 2) {
    const auto window = [=](std::size_t begin, std::size_t end) {
      const std::size_t from = begin + std::min(searched, end - begin);
      const std::size_t to = std::min(found, from + std::min(n, end - from));
      return from < to ? search(search, from, to, at.alone() ? size : cutoff) : size;
    };
    const auto first_of = [](std::size_t one, std::size_t other) { return std::min(one, other); };
    found = std::min(found, *fold_at_homes<std::size_t>(at, size, window, first_of));
  }
  return found;
}

/// The first index of [0, SIZE) for which MATCHES, called with the element of each of RANGES, is true; or SIZE.
template <class Matches, class... Range>
std::size_t first_match(const execution_policy& how, std::size_t size, const Matches& matches, const Range&... ranges) {
  const std::size_t cutoff = cutoff_over<Range...>(how);
  // The first match of [begin, end), or SIZE, in tasks for LEAF indices.
  const auto search = [=](auto& self, std::size_t begin, std::size_t end, std::size_t leaf) -> std::size_t {
    if (end - begin <= leaf) {
      std::size_t found = size;
      Matches mine = matches;
      const auto body = [&](std::size_t first, std::size_t n, const auto*... at) {
        for (std::size_t i = 0; i < n && found == size; ++i) {
          if (mine(at[i]...)) found = first + i;
        }
        return found == size;
      };
      sweep(how, begin, end, body, ranges...);
      return found;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    auto left = spawn([=] { return self(self, begin, middle, leaf); });
    const std::size_t right = self(self, middle, end, leaf);
    const std::size_t first = left.join();
    return first != size ? first : right;
  };
  const auto among_workers = [=](std::size_t begin, std::size_t end) -> std::size_t {
    if (end - begin <= cutoff || !divides()) return search(search, begin, end, cutoff);
    const auto share = [=](std::size_t lo, std::size_t hi) { return search(search, begin + lo, begin + hi, cutoff); };
    const auto first_of = [](std::size_t one, std::size_t other) { return std::min(one, other); };
    return in_shares<std::size_t>(end - begin, cutoff, share, first_of);
  };
  return with_one_error([&] {
    const placement at = home_of(how, cutoff, size, ranges...);
    if (at.at_owners()) {
      // Many searches end where they begin.
      const std::size_t at_once = search(search, 0, std::min(cutoff, size), cutoff);
      return at_once != size || cutoff >= size ? at_once : first_match_at(at, size, cutoff, search);
    }
    for (std::size_t begin = 0, part = cutoff; begin < size; part *= 2) {
      const std::size_t end = part < size - begin ? begin + part : size;
      const std::size_t found = among_workers(begin, end);
      if (found != size) return found;
      begin = end;
    }
    return size;
  });
}

/// The first index of A whose element and the next one MATCH; or a.size().
template <class T, class Matches>
std::size_t first_neighbours(const execution_policy& how, global_span<T> a, const Matches& matches) {
  if (a.size() < 2) return a.size();
  const std::size_t pairs = a.size() - 1;
  const std::size_t found = first_match(how, pairs, matches, input(a.first(pairs)), input(a.subspan(1)));
  return found == pairs ? a.size() : found;
}

}  // namespace pieces

/// Returns the address of the first element that has predicate(element), or the end.
template <class T, class Predicate>
global_ptr<T> find_if(const execution_policy& how, global_span<T> a, const Predicate& predicate) {
  return a.data() + pieces::first_match(how, a.size(), std::decay_t<Predicate>(predicate), pieces::input(a));
}
/// The same with par.
template <class T, class Predicate>
global_ptr<T> find_if(global_span<T> a, const Predicate& predicate) {
  return tobi::find_if(par, a, predicate);
}
/// Returns the address of the first element that equals VALUE, or the end.
template <class T>
global_ptr<T> find(const execution_policy& how, global_span<T> a,
                   const std::type_identity_t<std::remove_const_t<T>>& value) {
  return tobi::find_if(how, a, [value](const T& x) { return x == value; });
}
/// The same with par.
template <class T>
global_ptr<T> find(global_span<T> a, const std::type_identity_t<std::remove_const_t<T>>& value) {
  return tobi::find(par, a, value);
}

/// Returns the address of the first element that has equal(element, the next one), or the end.
template <class T, class Equal = std::equal_to<>>
global_ptr<T> adjacent_find(const execution_policy& how, global_span<T> a, const Equal& equal = {}) {
  return a.data() + pieces::first_neighbours(how, a, std::decay_t<Equal>(equal));
}
/// The same with par.
template <class T, class Equal = std::equal_to<>>
global_ptr<T> adjacent_find(global_span<T> a, const Equal& equal = {}) {
  return tobi::adjacent_find(par, a, equal);
}

/// Returns whether some element has predicate(element): false where there is none at all.
/// @code
/// const auto a = tobi::allocate_all<int>(1000);
/// const bool seen = tobi::run([=] {
///   tobi::iota(a, 0);
///   return tobi::any_of(a, [](int x) { return x == 400; }) && tobi::all_of(a, [](int x) { return x < 1000; });
/// });
/// if (rt.rank() == 0) std::printf("%s\n", seen ? "seen" : "not there");  // prints seen
/// @endcode
template <class T, class Predicate>
bool any_of(const execution_policy& how, global_span<T> a, const Predicate& predicate) {
  return tobi::find_if(how, a, predicate) != a.end();
}
/// The same with par.
template <class T, class Predicate>
bool any_of(global_span<T> a, const Predicate& predicate) {
  return tobi::any_of(par, a, predicate);
}
/// Returns whether no element has predicate(element).
template <class T, class Predicate>
bool none_of(const execution_policy& how, global_span<T> a, const Predicate& predicate) {
  return !tobi::any_of(how, a, predicate);
}
/// The same with par.
template <class T, class Predicate>
bool none_of(global_span<T> a, const Predicate& predicate) {
  return tobi::none_of(par, a, predicate);
}
/// Returns whether each element has predicate(element): true where there is none.
template <class T, class Predicate>
bool all_of(const execution_policy& how, global_span<T> a, const Predicate& predicate) {
  return tobi::none_of(how, a, [predicate = predicate](const T& x) mutable { return !predicate(x); });
}
/// The same with par.
template <class T, class Predicate>
bool all_of(global_span<T> a, const Predicate& predicate) {
  return tobi::all_of(par, a, predicate);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
