// SPDX-License-Identifier: Apache-2.0
// Where a worker that has ended its part of a loop takes from, one group of workers after the other, from near to far
// (own_part.hpp says when the next one opens). Behind the last group everybody is open.
//
// A loop at the owners of its data knows one group: the worker's node. A share of a range of workers lies in the ranges
// that it was divided from (tobi/detail/division.hpp), up to most_groups of them. Those within the node come first,
// then the node, then what is larger.
#pragma once

#include <array>
#include <cstdint>

#include "libcore/sched/numbering.hpp"

namespace tobi::sched {

struct surroundings {
  std::array<numbers, detail::division::most_groups + 1> groups{};
  unsigned near = 0;  // so many of them lie within the node, and so does what comes next
  unsigned far = 0;   // the others

  /// Of what is bound to NODE, among ALL workers.
  static surroundings of_node(const numbers& node, const numbers& all) noexcept {
    surroundings made;
    if (!holds(node, all)) made.groups[made.far++] = node;
    return made;
  }
  /// Of a share with RANGE.
  static surroundings of_share(const detail::division& range, const numbers& node, const numbers& all) noexcept {
    surroundings made;
    std::uint32_t i = 0;
    for (; i < range.groups && holds(node, range.around[i]); ++i) {
      if (count_of(range.around[i]) > 1 && !holds(range.around[i], node)) made.groups[made.near++] = range.around[i];
    }
    if (holds(node, all)) return made;
    made.groups[made.near + made.far++] = node;
    for (; i < range.groups; ++i) {
      if (!holds(range.around[i], all)) made.groups[made.near + made.far++] = range.around[i];
    }
    return made;
  }
};

}  // namespace tobi::sched
