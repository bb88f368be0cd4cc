// SPDX-License-Identifier: Apache-2.0
// Orders that depend on places alone: reverse, reverse_copy, rotate, rotate_copy. Work O(n), depth O(log n) and a leaf.
// In place each element is read and written once by reverse(), and twice by rotate(). Each may migrate the caller,
// which holds no checkout.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tobi/algorithm/for_each.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// A range as a leaf uses it from its end on: index I is the element before the last I.
template <access How, class T>
struct mirrored {
  using element = T;
  global_span<T> all;

  [[nodiscard]] std::size_t chunk_at(const execution_policy& how, std::size_t i) const {
    const auto last = reinterpret_cast<std::uintptr_t>((all.end() - i).raw()) - 1;  // byte
    const std::size_t down_to_boundary = last % global_calls::chunk_bytes() + 1;
    return std::max<std::size_t>(1, std::min(chunk_bytes_wanted(how), down_to_boundary) / sizeof(T));
  }
  [[nodiscard]] auto open(std::size_t i, std::size_t n) const {
    return checkout_nb(all.subspan(all.size() - i - n, n), mode::tag<How>{});
  }
  /// Index I, from which the pointer goes down.
  template <class Open>
  [[nodiscard]] T* at(Open& part, std::size_t) const {
    return part.data() + (part.size() - 1);
  }
  [[nodiscard]] global_span<T> first(std::size_t n) const { return all.subspan(all.size() - n); }
};

}  // namespace pieces

/// Turns A round: the last element becomes the first. The range is read and written.
/// @code
/// const auto a = tobi::allocate_all<int>(1000);
/// const int first = tobi::run([=] {
///   tobi::iota(a, 0);
///   tobi::reverse(a);
///   return int{a[0]};
/// });
/// if (rt.rank() == 0) std::printf("%d\n", first);  // prints 999
/// @endcode
template <class T>
void reverse(const execution_policy& how, global_span<T> a) {
  const auto body = [](std::size_t, std::size_t n, T* front, T* back) {
    for (std::size_t i = 0; i < n; ++i) std::swap(front[i], *(back - i));
  };
  pieces::sweep_in_tasks(how, a.size() / 2, body, pieces::operand<access::read_write, T>{a},
                         pieces::mirrored<access::read_write, T>{a});
}
/// The same with par.
template <class T>
void reverse(global_span<T> a) {
  tobi::reverse(par, a);
}
/// Copies the elements of IN to the front of OUT, the last one first. OUT is at least as long as IN, or a
/// std::length_error is thrown, and does not overlap it.
template <class In, class Out>
void reverse_copy(const execution_policy& how, global_span<In> in, global_span<Out> out) {
  pieces::check_sizes("reverse_copy", in.size(), out.size());
  const auto body = [](std::size_t, std::size_t n, const In* back, Out* to) {
    for (std::size_t i = 0; i < n; ++i) to[i] = *(back - i);
  };
  pieces::sweep_in_tasks(how, in.size(), body, pieces::mirrored<access::read, const In>{in}, pieces::output<Out>{out});
}
/// The same with par.
template <class In, class Out>
void reverse_copy(global_span<In> in, global_span<Out> out) {
  tobi::reverse_copy(par, in, out);
}

/// Moves element N to the front of A, those behind it after it, and those before it to the end: a[i] becomes what was
/// a[(i + n) % a.size()]. Throws std::out_of_range where N is more than a.size(). The range is read and written.
template <class T>
void rotate(const execution_policy& how, global_span<T> a, std::size_t n) {
  pieces::check_place("rotate", n, a.size());
  if (n == 0 || n == a.size()) return;
  tobi::reverse(how, a.first(n));
  tobi::reverse(how, a.subspan(n));
  tobi::reverse(how, a);
}
/// The same with par.
template <class T>
void rotate(global_span<T> a, std::size_t n) {
  tobi::rotate(par, a, n);
}
/// Does the same on the way from IN to OUT, which is at least as long (or a std::length_error is thrown) and does not
/// overlap it.
template <class In, class Out>
void rotate_copy(const execution_policy& how, global_span<In> in, std::size_t n, global_span<Out> out) {
  pieces::check_place("rotate_copy", n, in.size());
  pieces::check_sizes("rotate_copy", in.size(), out.size());
  tobi::copy(how, in.subspan(n), out);
  tobi::copy(how, in.first(n), out.subspan(in.size() - n));
}
/// The same with par.
template <class In, class Out>
void rotate_copy(global_span<In> in, std::size_t n, global_span<Out> out) {
  tobi::rotate_copy(par, in, n, out);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
