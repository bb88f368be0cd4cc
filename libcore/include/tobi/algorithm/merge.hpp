// SPDX-License-Identifier: Apache-2.0
// merge, inplace_merge: two sorted ranges into one. It is stable: of equal elements those of ONE come first, and each
// range's keep their order. The output is halved, and a binary search in both inputs finds what belongs to each half,
// so all leaves are equally long. Work O(n) and O(log n) loads of single elements per leaf, depth O(log^2 n) and a
// leaf. Inputs are read, the output written. The output overlaps neither input, and is at least as long as both
// together, or a std::length_error is thrown. May migrate the caller, which holds no checkout. The comparison does not
// fork. What it throws leaves as task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <functional>
#include <type_traits>

#include "tobi/algorithm/for_each.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// How many of the first K elements of the merged range come from ONE.
template <class T, class Less>
std::size_t share_of_first(global_span<const T> one, global_span<const T> two, std::size_t k, Less& less) {
  std::size_t low = k > two.size() ? k - two.size() : 0;
  std::size_t high = std::min(k, one.size());
  while (low < high) {
    const std::size_t i = low + (high - low) / 2;
    if (less(load(&two[k - i - 1]), load(&one[i]))) {
      high = i;
    } else {
      low = i + 1;
    }
  }
  return low;
}

/// A leaf, in rounds: a round opens a chunk of each input and merges what these two decide, which is all of one of
/// them. Where both are open to their ends, that is everything.
template <class T, class Less>
void merge_leaf(const execution_policy& how, global_span<const T> one, global_span<const T> two, global_span<T> out,
                Less& less) {
  while (!one.empty() && !two.empty()) {
    std::size_t from_one = std::min(one.size(), input(one).chunk_at(how, 0));
    std::size_t from_two = std::min(two.size(), input(two).chunk_at(how, 0));
    auto open_one = checkout_nb(one.first(from_one), mode::read);
    auto open_two = checkout_nb(two.first(from_two), mode::read);
    const T* const a = open_one.data();
    const T* const b = open_two.data();
    if (from_one < one.size() || from_two < two.size()) {
      const T& last_a = a[from_one - 1];
      const T& last_b = b[from_two - 1];
      if (less(last_b, last_a)) {
        from_one = static_cast<std::size_t>(std::upper_bound(a, a + from_one, last_b, less) - a);
      } else {
        from_two = static_cast<std::size_t>(std::lower_bound(b, b + from_two, last_a, less) - b);
      }
    }
    const std::size_t n = std::min(from_one + from_two, output<T>{out}.chunk_at(how, 0));
    auto open_out = checkout(out.first(n), mode::write);
    T* to = open_out.data();
    if (n == from_one + from_two) {
      std::merge(a, a + from_one, b, b + from_two, to, less);
    } else {  // the output has a boundary here
      std::size_t i = 0;
      for (std::size_t j = 0; i + j < n; ++to) {
        const bool second = i == from_one || (j < from_two && less(b[j], a[i]));
        *to = second ? b[j++] : a[i++];
      }
      from_one = i;
      from_two = n - i;
    }
    one = one.subspan(from_one);
    two = two.subspan(from_two);
    out = out.subspan(n);
  }
  tobi::copy({.cutoff = seq.cutoff, .checkout_bytes = how.checkout_bytes}, one.empty() ? two : one, out);
}

template <class T, class Less>
void merge_in_tasks(const execution_policy& how, global_span<const T> one, global_span<const T> two, global_span<T> out,
                    Less less) {
  const std::size_t size = one.size() + two.size();
  if (size <= cutoff_of<T>(how)) {
    merge_leaf(how, one, two, out, less);
    return;
  }
  const std::size_t half = size / 2;
  const std::size_t i = share_of_first(one, two, half, less);
  in_both([=] { merge_in_tasks(how, one.first(i), two.first(half - i), out.first(half), less); },
          [=] { merge_in_tasks(how, one.subspan(i), two.subspan(half - i), out.subspan(half), less); });
}

/// The elements [BEGIN, BEGIN + out.size()) of what ONE and TWO make together.
template <class T, class Less>
void merge_part(const execution_policy& how, global_span<const T> one, global_span<const T> two, std::size_t begin,
                global_span<T> out, Less less) {
  const std::size_t end = begin + out.size();
  const std::size_t i = share_of_first(one, two, begin, less), j = share_of_first(one, two, end, less);
  merge_in_tasks(how, one.subspan(i, j - i), two.subspan(begin - i, out.size() - (j - i)), out, less);
}

/// merge_in_tasks() whose tasks begin where OUT lies.
template <class T, class Less>
void merge_at_homes(const execution_policy& how, global_span<const T> one, global_span<const T> two, global_span<T> out,
                    Less less) {
  const placement at = home_of(how, cutoff_of<T>(how), out.size(), output<T>{out});
  if (!at.at_owners()) {
    merge_in_tasks(how, one, two, out, less);
    return;
  }
  at_homes(at, 0, at.parts(), [=, part = in_part(how, at)](std::size_t piece) {
    const std::size_t begin = at.begin_of(piece, out.size()), end = at.begin_of(piece + 1, out.size());
    merge_part(part, one, two, begin, out.subspan(begin, end - begin), less);
  });
}

/// Merges the first N elements of A and the others. Each part waits in the heap of its owner until all have been read.
template <class T, class Less>
void merge_in_place_at(const placement& at, const execution_policy& how, global_span<T> a, std::size_t n, Less less) {
  const scratch_of_parts<T> memory(at.parts());
  const global_span<global_span<T>> rooms = memory.all();
  at_homes(at, 0, at.parts(), [=, part = in_part(how, at)](std::size_t p) {
    const std::size_t begin = at.begin_of(p, a.size());
    const global_span<T> room = own_memory<T>(at.begin_of(p + 1, a.size()) - begin);
    store(&rooms[p], room);
    merge_part<T>(part, a.first(n), a.subspan(n), begin, room, less);
  });
  at_homes(at, 0, at.parts(), [=, part = in_part(how, at)](std::size_t p) {
    const global_span<T> room = load(&rooms[p]);
    tobi::copy(part, room, a.subspan(at.begin_of(p, a.size()), room.size()));
  });
}

}  // namespace pieces

/// Merges ONE and TWO, each sorted as LESS says, into OUT. Elements are copied by their bytes.
template <class One, class Two, class T, class Less = std::less<>>
void merge(const execution_policy& how, global_span<One> one, global_span<Two> two, global_span<T> out,
           Less less = {}) {
  static_assert(std::is_same_v<std::remove_const_t<One>, T> && std::is_same_v<std::remove_const_t<Two>, T>,
                "tobi: merge() takes ranges of one element type");
  static_assert(detail::travels<T>,
                "tobi: merge() copies bytes: the copy constructor and the destructor of its elements must be trivial");
  pieces::check_sizes("merge", one.size() + two.size(), out.size());
  pieces::with_one_error([&] { pieces::merge_at_homes<T>(how, one, two, out.first(one.size() + two.size()), less); });
}
/// The same with par.
template <class One, class Two, class T, class Less = std::less<>>
void merge(global_span<One> one, global_span<Two> two, global_span<T> out, Less less = {}) {
  tobi::merge(par, one, two, out, less);
}

/// Merges the first N elements of A and those behind them, each sorted as LESS says, in place. SCRATCH is as long as A
/// at least (or a std::length_error is thrown), does not overlap it, and has undefined contents afterwards. Throws
/// std::out_of_range where N is more than a.size().
template <class T, class Less = std::less<>>
void inplace_merge(const execution_policy& how, global_span<T> a, std::size_t n, global_span<T> scratch,
                   Less less = {}) {
  pieces::check_place("inplace_merge", n, a.size());
  pieces::check_sizes("inplace_merge", a.size(), scratch.size());
  if (n == 0 || n == a.size()) return;
  tobi::merge(how, a.first(n), a.subspan(n), scratch, less);
  tobi::copy(how, scratch.first(a.size()), a);
}
/// The same with par.
template <class T, class Less = std::less<>>
void inplace_merge(global_span<T> a, std::size_t n, global_span<T> scratch, Less less = {}) {
  tobi::inplace_merge(par, a, n, scratch, less);
}
/// The same with scratch of its own: in the heaps of the owners of A where the parts begin there, else in that of the
/// worker that runs the caller.
/// @code
/// const auto a = tobi::allocate_all<int>(1000);
/// const int middle = tobi::run([=] {
///   tobi::for_each(a, tobi::mode::write, [](int& x, std::size_t i) { x = static_cast<int>(2 * i % 1000 + i / 500); });
///   tobi::inplace_merge(a, 500);  // the even numbers come first, and then the odd ones
///   return int{a[501]};
/// });
/// if (rt.rank() == 0) std::printf("%d\n", middle);  // prints 501
/// @endcode
template <class T, class Less = std::less<>>
void inplace_merge(const execution_policy& how, global_span<T> a, std::size_t n, Less less = {}) {
  pieces::check_place("inplace_merge", n, a.size());
  if (n == 0 || n == a.size()) return;
  const placement at = pieces::home_of(how, pieces::cutoff_of<T>(how), a.size(), pieces::output<T>{a});
  if (at.at_owners() && at.size() == at.parts()) {
    static_assert(
        detail::travels<T>,
        "tobi: merge() copies bytes: the copy constructor and the destructor of its elements must be trivial");
    pieces::with_one_error([&] { pieces::merge_in_place_at(at, how, a, n, less); });
    return;
  }
  const pieces::scratch<T> memory(a.size());
  tobi::inplace_merge(how, a, n, memory.span(), less);
}
/// The same with par.
template <class T, class Less = std::less<>>
void inplace_merge(global_span<T> a, std::size_t n, Less less = {}) {
  tobi::inplace_merge(par, a, n, less);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
