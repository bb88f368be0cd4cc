// SPDX-License-Identifier: Apache-2.0
// sort, sort_by_key: a merge sort, stable (equal elements keep their order). Halves are sorted by tasks into the other
// of two ranges, and merged back by tasks. Work O(n log n), depth O(log^3 n) and a leaf. Leaves and merges check out
// chunks. A leaf is opened as a whole, so its size is at most what the cache surely holds, whatever the cutoff. May
// migrate the caller, which holds no checkout. The comparison does not fork. What it throws leaves as task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <functional>
#include <type_traits>

#include "tobi/algorithm/for_each.hpp"
#include "tobi/algorithm/merge.hpp"
#include "tobi/global_vector.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// Sorts what is in A. The result is in A, or, if ACROSS, in B. LEAF is at least 1.
template <class T, class Less>
void sort_in_tasks(const execution_policy& how, std::size_t leaf, global_span<T> a, global_span<T> b, bool across,
                   Less less) {
  if (a.size() <= leaf) {
    if (a.empty()) return;
    auto open = checkout(a, mode::read_write);
    std::stable_sort(open.begin(), open.end(), less);
    if (across) std::copy(open.begin(), open.end(), checkout(b, mode::write).begin());
    return;
  }
  const std::size_t half = a.size() / 2;
  const global_span<T> a1 = a.first(half), a2 = a.subspan(half);
  const global_span<T> b1 = b.first(half), b2 = b.subspan(half);
  {
    auto left = spawn([=] { sort_in_tasks(how, leaf, a1, b1, !across, less); });
    sort_in_tasks(how, leaf, a2, b2, !across, less);
    left.join();
  }
  if (across) {
    merge_in_tasks<T>(how, a1, a2, b, less);
  } else {
    merge_in_tasks<T>(how, b1, b2, a, less);
  }
}

}  // namespace pieces

/// Sorts A as LESS says. SCRATCH is at least as long (or a std::length_error is thrown), does not overlap A, and has
/// undefined contents afterwards. For an array that one worker's heap does not hold, allocate it as A was. Elements are
/// copied by their bytes.
/// @code
/// const auto a = tobi::allocate_all<int>(1000);
/// const auto largest = tobi::run([=] {
///   tobi::iota(a, 0);
///   tobi::sort(a, [](int x, int y) { return x > y; });
///   return std::array<int, 3>{a[0], a[1], a[2]};
/// });
/// if (rt.rank() == 0) std::printf("%d %d %d\n", largest[0], largest[1], largest[2]);  // prints 999 998 997
/// @endcode
template <class T, class Less = std::less<>>
void sort(const execution_policy& how, global_span<T> a, global_span<T> scratch, Less less = {}) {
  static_assert(detail::travels<T>,
                "tobi: sort() copies bytes: the copy constructor and the destructor of its elements must be trivial");
  pieces::check_sizes("sort", a.size(), scratch.size());
  const std::size_t leaf = pieces::whole_leaf<T>(how);
  pieces::with_one_error([&] { pieces::sort_in_tasks(how, leaf, a, scratch.first(a.size()), false, less); });
}
/// The same with par.
template <class T, class Less = std::less<>>
void sort(global_span<T> a, global_span<T> scratch, Less less = {}) {
  tobi::sort(par, a, scratch, less);
}
/// The same with scratch of its own, as long as A, in the heap of the worker that runs the caller.
template <class T, class Less = std::less<>>
void sort(const execution_policy& how, global_span<T> a, Less less = {}) {
  const pieces::scratch<T> memory(a.size());
  tobi::sort(how, a, memory.span(), less);
}
/// The same with par.
template <class T, class Less = std::less<>>
void sort(global_span<T> a, Less less = {}) {
  tobi::sort(par, a, less);
}
/// Sorts all elements of A in the same way.
template <class T, class Less = std::less<>>
void sort(const execution_policy& how, global_vector<T>& a, Less less = {}) {
  tobi::sort(how, a.span(), less);
}
/// The same with par.
template <class T, class Less = std::less<>>
void sort(global_vector<T>& a, Less less = {}) {
  tobi::sort(par, a.span(), less);
}

/// A key and its value, as sort_by_key() moves them.
template <class Key, class Value>
struct keyed {
  Key key;      ///< What is compared.
  Value value;  ///< What goes with it.
};

/// Sorts KEYS as LESS says, and VALUES in the same order. Equal keys keep theirs. SCRATCH has twice as many elements
/// (or a std::length_error is thrown), overlaps neither, and has undefined contents afterwards. VALUES is at least as
/// long as KEYS, or a std::length_error is thrown.
template <class Key, class Value, class Less = std::less<>>
void sort_by_key(const execution_policy& how, global_span<Key> keys, global_span<Value> values,
                 global_span<keyed<Key, Value>> scratch, Less less = {}) {
  static_assert(detail::travels<Key> && detail::travels<Value>,
                "tobi: sort_by_key() copies bytes: the copy constructors and the destructors of its elements must be "
                "trivial");
  using pair = keyed<Key, Value>;
  const std::size_t n = keys.size();
  pieces::check_sizes("sort_by_key", n, values.size());
  pieces::check_sizes("sort_by_key", 2 * n, scratch.size());
  const global_span<pair> pairs = scratch.first(n);
  transform(how, keys, values, pairs, [](const Key& key, const Value& value) { return pair{key, value}; });
  sort(how, pairs, scratch.subspan(n), [less](const pair& a, const pair& b) mutable { return less(a.key, b.key); });
  transform(how, pairs, keys, [](const pair& p) { return p.key; });
  transform(how, pairs, values, [](const pair& p) { return p.value; });
}
/// The same with par.
template <class Key, class Value, class Less = std::less<>>
void sort_by_key(global_span<Key> keys, global_span<Value> values, global_span<keyed<Key, Value>> scratch,
                 Less less = {}) {
  tobi::sort_by_key(par, keys, values, scratch, less);
}
/// The same with scratch of its own, in the heap of the worker that runs the caller.
/// @code
/// const auto names = tobi::allocate_all<char>(4);
/// const auto ages = tobi::allocate_all<int>(4);
/// const auto sorted = tobi::run([=] {
///   tobi::iota(names, 'a');
///   tobi::for_each(ages, [](int& age, std::size_t i) { age = static_cast<int>(7 * (i + 1) % 10); });
///   tobi::sort_by_key(ages, names);
///   return std::array<char, 5>{names[0], names[1], names[2], names[3], 0};
/// });
/// if (rt.rank() == 0) std::printf("%s\n", sorted.data());  // prints cbad
/// @endcode
template <class Key, class Value, class Less = std::less<>>
void sort_by_key(const execution_policy& how, global_span<Key> keys, global_span<Value> values, Less less = {}) {
  const pieces::scratch<keyed<Key, Value>> memory(2 * keys.size());
  tobi::sort_by_key(how, keys, values, memory.span(), less);
}
/// The same with par.
template <class Key, class Value, class Less = std::less<>>
void sort_by_key(global_span<Key> keys, global_span<Value> values, Less less = {}) {
  tobi::sort_by_key(par, keys, values, less);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
