// SPDX-License-Identifier: Apache-2.0
// The tasks that wait for one record, in such an order that a list of n of them spreads over idle workers in some log n
// steals, one behind the other, and not in n: the worker that takes a list keeps its first task and shows what is left
// as up to three lists of its own.
//
// A list is a skew binary number (Okasaki, Purely Functional Data Structures, 9.3): complete binary trees, smallest
// first, of which at most the first two are equal. The root of a tree names its two halves and the root of the next
// tree. A new waiter becomes the root over the first two trees where they are equal, else a tree of one. No image that
// is already in the list changes, so the one compare-and-swap that puts a waiter's location into the record's word is
// still all that enlisting is to others. To know how, it reads the first image, and the second root where it joins
// two trees: where somebody waits already, one get or two, by a task that has stopped anyway.
//
// What is read is good if the compare-and-swap succeeds: the word goes waiter* -> done and never back, so the list that
// was read was there all the time. If not, images may have gone and their memory may hold anything; what was read
// is not used, but a location in it must be looked at before it is followed.
//
// From the second on each tree is more than twice as large as the one before. So the longest way, along the roots and
// down the last tree, has at most 2 log2(n) + 1 tasks; 6 for 32 of them.
#pragma once

#include <array>
#include <cstdint>

namespace tobi::deque {

/// Tag on a list's word: it is the tree alone. The root was the first or second of a list before another one came above
/// it, and still names what was next to it then, which belongs to others.
inline constexpr std::uint64_t one_tree = 4;

/// In an image, of those that waited before it. Locations of images, or 0.
struct waiter_links {
  std::uint64_t left;
  std::uint64_t right;
  std::uint64_t next;       // the root of the next tree
  std::uint32_t size;       // of the tree of which this is the root
  std::uint32_t next_size;  // of the next one

  /// The lists that are left of LIST when its first task, which these are the links of, is taken out; 0: none.
  [[nodiscard]] constexpr std::array<std::uint64_t, 3> rest(std::uint64_t list) const noexcept {
    return {left == 0 ? 0 : left | one_tree, right == 0 ? 0 : right | one_tree, (list & one_tree) != 0 ? 0 : next};
  }
};

/// The links of a waiter that comes before the list HEAD, or 0. READ(location, links) gets those of an image; it
/// returns false where there can be none, which is the end of this attempt.
template <class Read>
waiter_links links_before(std::uint64_t head, Read read) {
  waiter_links mine{0, 0, head, 1, 0};
  if (head == 0) return mine;
  waiter_links first{};
  if (!read(head, first)) return mine;
  mine.next_size = first.size;
  if (first.next == 0 || first.next_size != first.size) return mine;
  waiter_links second{};
  if (!read(first.next, second)) return mine;
  return {head, first.next, second.next, 1 + 2 * first.size, second.next_size};
}

}  // namespace tobi::deque
