// SPDX-License-Identifier: Apache-2.0
// find and find_if: the first element that matches. The range is searched in parts, each twice as long as the one
// before it and searched in parallel, until one has a match. So a match at index i costs O(i) work, and O(log^2 i)
// depth and a leaf. Within a part a leaf stops at its own first match. Leaves after it do not know of that. Ranges are
// read. May migrate the caller, which holds no checkout. Predicates do not fork. What one throws leaves as task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <type_traits>

#include "tobi/algorithm/reduce.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// Returns the address of the first element that has predicate(element), or the end.
template <class T, class Predicate>
global_ptr<T> find_if(const execution_policy& how, global_span<T> a, const Predicate& predicate) {
  const std::size_t none = a.size();
  const std::size_t cutoff = pieces::cutoff_of<T>(how);
  // The first match of [begin, end), or none.
  const auto search = [=](auto& self, std::size_t begin, std::size_t end) -> std::size_t {
    if (end - begin <= cutoff) {
      std::size_t found = none;
      std::decay_t<Predicate> mine = predicate;
      const auto body = [&](std::size_t first, std::size_t n, const T* at) {
        for (std::size_t i = 0; i < n && found == none; ++i) {
          if (mine(at[i])) found = first + i;
        }
        return found == none;
      };
      pieces::sweep(how, begin, end, body, pieces::input(a));
      return found;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    auto left = spawn([=] { return self(self, begin, middle); });
    const std::size_t right = self(self, middle, end);
    const std::size_t first = left.join();
    return first != none ? first : right;
  };
  return pieces::with_one_error([&] {
    for (std::size_t begin = 0, part = cutoff; begin < a.size(); part *= 2) {
      const std::size_t end = part < a.size() - begin ? begin + part : a.size();
      const std::size_t found = search(search, begin, end);
      if (found != none) return &a[found];
      begin = end;
    }
    return a.end();
  });
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

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
