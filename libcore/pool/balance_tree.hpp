// SPDX-License-Identifier: Apache-2.0
// Which rank plays which node of a balancer's tree. HPDC'12, section 5.2: "an n-ary tree where every core is a leaf".
#pragma once

#include <algorithm>
#include <cstdint>

namespace tobi::pool {

/// Node I of level L has B^L ranks from I * B^L on, or as many as there are; leaves are level 0. The first rank of a
/// node plays it, so one of a node's children is on the same rank.
class balance_tree {
 public:
  /// BRANCHING is 2 or more. Of SIZE or more it makes the tree of algorithm 1, whose root has all cores as children.
  balance_tree(std::uint32_t size, std::uint32_t branching) noexcept : size_(size), branching_(branching) {
    while (nodes_of(levels_) > 1) ++levels_;
  }

  /// Above the leaves. One rank has none.
  [[nodiscard]] unsigned levels() const noexcept { return levels_; }
  [[nodiscard]] std::uint32_t branching() const noexcept { return branching_; }
  [[nodiscard]] std::uint32_t nodes_of(unsigned level) const noexcept {
    return static_cast<std::uint32_t>((size_ + width_of(level) - 1) / width_of(level));
  }
  /// The node of LEVEL that has RANK.
  [[nodiscard]] std::uint32_t node_with(unsigned level, std::uint32_t rank) const noexcept {
    return static_cast<std::uint32_t>(rank / width_of(level));
  }
  /// The rank that plays node INDEX, which is the first of those that it has.
  [[nodiscard]] std::uint32_t host_of(unsigned level, std::uint32_t index) const noexcept {
    return static_cast<std::uint32_t>(index * width_of(level));
  }
  [[nodiscard]] std::uint32_t ranks_of(unsigned level, std::uint32_t index) const noexcept {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(width_of(level), size_ - index * width_of(level)));
  }
  /// Of node INDEX of LEVEL, which is no leaf: the nodes from INDEX * branching() on of the level below.
  [[nodiscard]] std::uint32_t children_of(unsigned level, std::uint32_t index) const noexcept {
    const std::uint64_t first = std::uint64_t{index} * branching_;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(branching_, nodes_of(level - 1) - first));
  }
  /// The highest level at which RANK plays a node; 0: it is a leaf alone.
  [[nodiscard]] unsigned top_of(std::uint32_t rank) const noexcept {
    unsigned level = 0;
    while (level < levels_ && rank % width_of(level + 1) == 0) ++level;
    return level;
  }

 private:
  // Ranks of a node.
  [[nodiscard]] std::uint64_t width_of(unsigned level) const noexcept {
    std::uint64_t width = 1;
    for (unsigned l = 0; l < level; ++l) width *= branching_;
    return width;
  }

  std::uint32_t size_;
  std::uint32_t branching_;
  unsigned levels_ = 0;
};

}  // namespace tobi::pool
