// SPDX-License-Identifier: Apache-2.0
// How the algorithms on global ranges are run, and what they are made of: tasks that split a range of indices in
// halves, and leaves that go through global memory a chunk at a time.
//
// A leaf checks out as much of each of its ranges as its policy says, and no more than the cache surely holds: a chunk
// ends where the addresses reach a multiple of global_calls::chunk_bytes(), so it never takes more of the cache than
// that. No checkout is held across a fork or a join.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tobi/checkout.hpp"
#include "tobi/global_memory.hpp"
#include "tobi/global_ptr.hpp"
#include "tobi/parallel.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// How an algorithm is cut into tasks and checkouts. Each algorithm takes one first, or takes par.
struct execution_policy {
  /// Elements per leaf, which is serial. 0 means as many as make 16 KiB, so that a leaf is worth a fork.
  std::size_t cutoff = 0;
  /// Bytes of each range that a leaf checks out at a time. 0 means 64 KiB. More than the cache can hold is reduced.
  std::size_t checkout_bytes = 0;
  /// Where the tasks begin: of for_each, transform, fill, iota, copy, reduce, transform_reduce, count_if, histogram,
  /// min_element, max_element, minmax_element, reverse, reverse_copy, rotate, rotate_copy, shuffle,
  /// adjacent_difference, scans, copy_if, remove_if, unique, partition, nth_element, sort, sort_by_key, merge,
  /// inplace_merge, searches and comparisons (find, any_of, equal and their like), for_chunks and reduce_chunks.
  affinity where = affinity::automatic;
};
/// The default.
inline constexpr execution_policy par{};
/// One leaf: no task is forked.
inline constexpr execution_policy seq{.cutoff = ~std::size_t{0}};

/// The pieces of the algorithms: not for users.
namespace pieces {

/// Elements of a leaf, at least 1. The largest of the element types decides.
template <class... T>
constexpr std::size_t cutoff_of(const execution_policy& how) noexcept {
  constexpr std::size_t leaf_bytes = std::size_t{1} << 14;
  if (how.cutoff != 0) return how.cutoff;
  return std::max<std::size_t>(1, leaf_bytes / std::max({sizeof(T)...}));
}

/// Elements of a leaf that is opened as a whole, at least 1.
template <class T>
std::size_t whole_leaf(const execution_policy& how) {
  return std::min(cutoff_of<T>(how), std::max<std::size_t>(1, global_calls::chunk_bytes() / sizeof(T)));
}

/// Memory of a leaf, which neither forks nor joins meanwhile: N elements, not initialized. A T may have no default.
template <class T>
class leaf_memory {
 public:
  explicit leaf_memory(std::size_t n) : at_(std::allocator<T>().allocate(n)), n_(n) {}
  leaf_memory(const leaf_memory&) = delete;
  leaf_memory& operator=(const leaf_memory&) = delete;
  ~leaf_memory() { std::allocator<T>().deallocate(at_, n_); }
  [[nodiscard]] T* data() const noexcept { return at_; }
  [[nodiscard]] std::size_t size() const noexcept { return n_; }
  [[nodiscard]] std::span<T> span() const noexcept { return {at_, n_}; }

 private:
  T* const at_;
  const std::size_t n_;
};

/// leaf(begin, end) for parts of [begin, end) of at most CUTOFF indices, in tasks. A leaf is copied into each.
template <class Leaf>
void in_tasks(std::size_t begin, std::size_t end, std::size_t cutoff, const Leaf& leaf) {
  if (end - begin <= cutoff) {
    if (begin != end) leaf(begin, end);
    return;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  auto left = spawn([=] { in_tasks(begin, middle, cutoff, leaf); });
  in_tasks(middle, end, cutoff, leaf);
  left.join();
}

/// Bytes of a range that may be checked out at once, where no end of a chunk is nearer.
inline std::size_t chunk_bytes_wanted(const execution_policy& how) {
  constexpr std::size_t usual = std::size_t{1} << 16;
  return std::min(how.checkout_bytes != 0 ? how.checkout_bytes : usual, global_calls::chunk_bytes());
}
/// Bytes of a range that may be checked out at once from AT on.
template <class T>
std::size_t chunk_bytes_at(const execution_policy& how, global_ptr<T> at) {
  const std::size_t most = global_calls::chunk_bytes();
  return std::min(chunk_bytes_wanted(how), most - reinterpret_cast<std::uintptr_t>(at.raw()) % most);
}

/// A range as a leaf uses it, with an element per index.
template <access How, class T>
struct operand {
  using element = T;
  global_span<T> all;

  /// How many indices from I on may be checked out at once; at least 1.
  [[nodiscard]] std::size_t chunk_at(const execution_policy& how, std::size_t i) const {
    return std::max<std::size_t>(1, chunk_bytes_at(how, &all[i]) / sizeof(T));
  }
  /// Checks out N indices from I on.
  [[nodiscard]] auto open(std::size_t i, std::size_t n) const {
    return checkout_nb(all.subspan(i, n), mode::tag<How>{});
  }
  /// Where index I lies in what was opened from there on.
  template <class Open>
  [[nodiscard]] T* at(Open& part, std::size_t) const {
    return part.data();
  }
  /// The elements of the first N indices.
  [[nodiscard]] global_span<T> first(std::size_t n) const { return all.first(n); }
};
template <class T>
constexpr operand<access::read, const T> input(global_span<T> all) noexcept {
  return {all};
}
/// Elements that are assigned to. Those that own something must be what they were before.
template <class T>
inline constexpr access assigned = detail::travels<T> ? access::write : access::read_write;
template <class T>
using output = operand<assigned<T>, T>;

/// Calls body(i, n, pointer...) for the indices [begin, end), n at a time from i on, with a pointer to element i of
/// each range. The chunks of all ranges are fetched together. A body that returns false ends it.
template <class Body, class... Range>
void sweep(const execution_policy& how, std::size_t begin, std::size_t end, Body& body, const Range&... ranges) {
  while (begin < end) {
    const std::size_t n = std::min({end - begin, ranges.chunk_at(how, begin)...});
    std::tuple open{ranges.open(begin, n)...};
    const auto call = [&](auto&... part) { return body(begin, n, ranges.at(part, begin)...); };
    if constexpr (std::is_same_v<decltype(std::apply(call, open)), bool>) {
      if (!std::apply(call, open)) return;
    } else {
      std::apply(call, open);
    }
    begin += n;
  }
}

/// Where the parts of an algorithm over the first SIZE indices of RANGES begin: as the first of them lies whose memory
/// says something. What one leaf of at most CUTOFF indices does begins nowhere else.
template <class... Range>
placement home_of(const execution_policy& how, std::size_t cutoff, std::size_t size, const Range&... ranges) {
  const bool one_leaf = how.where == affinity::automatic && size <= cutoff;
  placement chosen(global_span<char>(), affinity::none);
  const auto consider = [&](const auto& range) {
    if (!chosen.at_owners()) chosen = placement(range.first(size), how.where);
  };
  if (!one_leaf) (consider(ranges), ...);
  return chosen;
}

/// Elements of a leaf that goes through RANGES, at least 1.
template <class... Range>
constexpr std::size_t cutoff_over(const execution_policy& how) noexcept {
  return cutoff_of<typename Range::element...>(how);
}

/// How a part runs that begins at the owner of its data: in one leaf where it is executed by its owner alone.
inline execution_policy in_part(const execution_policy& how, const placement& at) noexcept {
  return {at.alone() ? seq.cutoff : how.cutoff, how.checkout_bytes, affinity::none};
}

/// leaf(begin, end) for parts of [0, N) of at most CUTOFF indices, in tasks that begin as AT says. Where a part is
/// executed by its owner alone, it is one leaf.
template <class Leaf>
void in_tasks_at(const placement& at, std::size_t n, std::size_t cutoff, const Leaf& leaf) {
  if (!at.at_owners()) {
    if (n <= cutoff || !divides()) {
      in_tasks(0, n, cutoff, leaf);
      return;
    }
    const auto part = [=](std::size_t from, std::size_t to) {
      in_tasks(from, to, cutoff, leaf);
      return std::monostate();
    };
    in_shares<std::monostate>(n, cutoff, part, nothing_combined{});
    return;
  }
  at_homes(at, 0, at.parts(), [=](std::size_t piece) {
    in_tasks(at.begin_of(piece, n), at.begin_of(piece + 1, n), at.alone() ? n : cutoff, leaf);
  });
}

/// leaf(begin, end) for parts of [0, SIZE) of at most CUTOFF indices, in tasks that begin where RANGES lie: a whole
/// algorithm. What LEAF throws leaves it as task_error.
template <class Leaf, class... Range>
void leaves_in_tasks(const execution_policy& how, std::size_t size, std::size_t cutoff, const Leaf& leaf,
                     const Range&... ranges) {
  with_one_error([&] { in_tasks_at(home_of(how, cutoff, size, ranges...), size, cutoff, leaf); });
}

/// sweep() over [0, SIZE) in tasks: an algorithm that only calls BODY.
template <class Body, class... Range>
void sweep_in_tasks(const execution_policy& how, std::size_t size, const Body& body, Range... ranges) {
  const auto leaf = [=](std::size_t begin, std::size_t end) {
    Body mine = body;
    sweep(how, begin, end, mine, ranges...);
  };
  leaves_in_tasks(how, size, cutoff_over<Range...>(how), leaf, ranges...);
}

/// Ranges that must go together.
inline void check_sizes(const char* name, std::size_t in, std::size_t out) {
  if (out >= in) return;
  throw std::length_error(std::string("tobi::") + name + ": a range of " + std::to_string(out) +
                          " elements is given for " + std::to_string(in));
}
/// A place of a range of SIZE elements, or its end.
inline void check_place(const char* name, std::size_t place, std::size_t size) {
  if (place <= size) return;
  throw std::out_of_range(std::string("tobi::") + name + ": place " + std::to_string(place) + " of a range of " +
                          std::to_string(size) + " elements");
}

}  // namespace pieces

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
