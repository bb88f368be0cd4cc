// SPDX-License-Identifier: Apache-2.0
// sort, sort_by_key: a merge sort, stable (equal elements keep their order). Halves are sorted by tasks into the other
// of two ranges, and merged back by tasks. Work O(n log n), depth O(log^3 n) and a leaf. Leaves and merges check out
// chunks. A leaf is opened as a whole, so its size is at most what the cache surely holds, whatever the cutoff. May
// migrate the caller, which holds no checkout. The comparison does not fork. What it throws leaves as task_error.
//
// A range of which workers of several nodes own a part each (tobi::block()) is sorted by its owners: each sorts its
// part, fetches what belongs there of the others' parts, and merges. Others steal of a part if it is much longer than
// the rest. With affinity::owner they do in any case, and owners sort within a node, too; affinity::none sorts as
// anywhere else. Of a range that lies in many pieces (tobi::block_cyclic()) each worker first fetches as much as the
// others in a row, and writes what it has merged to its place: an element crosses the network up to three times.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>

#include "tobi/algorithm/for_each.hpp"
#include "tobi/algorithm/sort_tasks.hpp"
#include "tobi/global_vector.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// A key and its value, as sort_by_key() moves them.
template <class Key, class Value>
struct keyed {
  Key key;      ///< What is compared.
  Value value;  ///< What goes with it.
};

namespace pieces {

/// Sorts A with SCRATCH, which is as long, or with memory of the sort's own.
template <class T, class Less>
void sort(const execution_policy& how, global_span<T> a, std::optional<global_span<T>> given, Less less) {
  static_assert(detail::travels<T>,
                "tobi: sort() copies bytes: the copy constructor and the destructor of its elements must be trivial");
  with_one_error([&] {
    const auto [at, dealt] = find_home_of_sort(how, a);
    if (at.at_owners()) {
      const execution_policy here = in_part(how, at);
      const auto begins = [=, dealt = dealt](std::size_t first, std::size_t n) -> part_of_sort<T> {
        const global_span<T> part = a.subspan(first, n);
        if (dealt) {
          const global_span<T> run = own_memory<T>(n);
          tobi::copy(here, part, run);
          return {run, own_memory<T>(n), {}, true, true};
        }
        if (given) return {part, given->subspan(first, n), {}, false, false};
        return {part, own_memory<T>(n), {}, false, true};
      };
      const auto ends = [=, dealt = dealt](std::size_t first, global_span<T> run) {
        if (dealt) tobi::copy(here, run, a.subspan(first, run.size()));
      };
      sort_parts<T>(how, at, a.size(), begins, ends, less);
      return;
    }
    const std::size_t leaf = whole_leaf<T>(how);
    if (given || a.size() <= leaf) {
      sort_in_tasks(how, leaf, a, given ? given->first(a.size()) : a, false, less);
    } else {
      const scratch<T> memory(a.size());
      sort_in_tasks(how, leaf, a, memory.span(), false, less);
    }
  });
}

/// Sorts KEYS and VALUES with SCRATCH, which has twice as many elements, or with memory of the sort's own.
template <class Key, class Value, class Less>
void sort_by_key(const execution_policy& how, global_span<Key> keys, global_span<Value> values,
                 std::optional<global_span<keyed<Key, Value>>> given, Less less_key) {
  static_assert(detail::travels<Key> && detail::travels<Value>,
                "tobi: sort_by_key() copies bytes: the copy constructors and the destructors of its elements must be "
                "trivial");
  using pair = keyed<Key, Value>;
  const std::size_t all = keys.size();
  const auto less = [less_key](const pair& a, const pair& b) mutable { return less_key(a.key, b.key); };
  // Makes the pairs from element FIRST on, and takes them apart again.
  const auto join = [=](const execution_policy& policy, std::size_t first, global_span<pair> run) {
    transform(policy, keys.subspan(first, run.size()), values.subspan(first, run.size()), run,
              [](const Key& key, const Value& value) {
                return pair{key, value};
              });
  };
  const auto divide = [=](const execution_policy& policy, std::size_t first, global_span<pair> run) {
    transform(policy, run, keys.subspan(first, run.size()), [](const pair& p) { return p.key; });
    transform(policy, run, values.subspan(first, run.size()), [](const pair& p) { return p.value; });
  };
  with_one_error([&] {
    const auto [at, dealt] = find_home_of_sort(how, keys);
    if (!at.at_owners()) {
      std::optional<scratch<pair>> memory;
      if (!given) memory.emplace(2 * all);
      const global_span<pair> room = given ? *given : memory->span();
      join(how, 0, room.first(all));
      sort_in_tasks(how, whole_leaf<pair>(how), room.first(all), room.subspan(all, all), false, less);
      divide(how, 0, room.first(all));
      return;
    }
    const execution_policy here = in_part(how, at);
    const auto begins = [=, own = dealt || !given](std::size_t first, std::size_t n) {
      part_of_sort<pair> part{own_memory<pair>(own ? n : 0), own_memory<pair>(own ? n : 0), {}, own, own};
      if (!own) {
        part.run = given->subspan(first, n);
        part.room = given->subspan(all + first, n);
      }
      join(here, first, part.run);
      return part;
    };
    const auto ends = [=](std::size_t first, global_span<pair> run) { divide(here, first, run); };
    sort_parts<pair>(how, at, all, begins, ends, less);
  });
}

}  // namespace pieces

/// Sorts A as LESS says. SCRATCH is at least as long (or a std::length_error is thrown), does not overlap A, and has
/// undefined contents afterwards. For an array that one worker's heap does not hold, allocate it as A was. It is not
/// used where the owners sort what lies in many pieces. Elements are copied by their bytes.
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
  pieces::check_sizes("sort", a.size(), scratch.size());
  pieces::sort(how, a, std::optional(scratch), less);
}
/// The same with par.
template <class T, class Less = std::less<>>
void sort(global_span<T> a, global_span<T> scratch, Less less = {}) {
  tobi::sort(par, a, scratch, less);
}
/// The same with scratch of its own: as much as each owner has of A in that worker's heap where the owners sort (twice
/// as much where A lies in many pieces), else as long as A in the heap of the worker that runs the caller.
template <class T, class Less = std::less<>>
void sort(const execution_policy& how, global_span<T> a, Less less = {}) {
  pieces::sort<T>(how, a, std::nullopt, less);
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

/// Sorts KEYS as LESS says, and VALUES in the same order. Equal keys keep theirs. SCRATCH has twice as many elements
/// (or a std::length_error is thrown), overlaps neither, and has undefined contents afterwards. It is not used where
/// the owners sort what lies in many pieces. VALUES is at least as long as KEYS, or a std::length_error is thrown.
template <class Key, class Value, class Less = std::less<>>
void sort_by_key(const execution_policy& how, global_span<Key> keys, global_span<Value> values,
                 global_span<keyed<Key, Value>> scratch, Less less = {}) {
  pieces::check_sizes("sort_by_key", keys.size(), values.size());
  pieces::check_sizes("sort_by_key", 2 * keys.size(), scratch.size());
  pieces::sort_by_key(how, keys, values, std::optional(scratch), less);
}
/// The same with par.
template <class Key, class Value, class Less = std::less<>>
void sort_by_key(global_span<Key> keys, global_span<Value> values, global_span<keyed<Key, Value>> scratch,
                 Less less = {}) {
  tobi::sort_by_key(par, keys, values, scratch, less);
}
/// The same with scratch of its own: two pairs per element, where sort() has an element.
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
  pieces::check_sizes("sort_by_key", keys.size(), values.size());
  pieces::sort_by_key<Key, Value>(how, keys, values, std::nullopt, less);
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
