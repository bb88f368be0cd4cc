// SPDX-License-Identifier: Apache-2.0
// The numbers of the workers that run tasks, so that those of a node have numbers in a row. Most launchers number ranks
// like that, and then a worker's number is its rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "tobi/detail/division.hpp"

namespace tobi::sched {

/// Numbers from `first` up to `last`.
using numbers = detail::division::group;

constexpr bool holds(const numbers& all, std::uint32_t number) noexcept {
  return number >= all.first && number < all.last;
}
constexpr bool holds(const numbers& all, const numbers& part) noexcept {
  return part.first >= all.first && part.last <= all.last;
}
constexpr std::uint32_t count_of(const numbers& all) noexcept { return all.last - all.first; }

class numbering {
 public:
  numbering() = default;
  /// NODES: of each rank. SERVES(rank): it runs no tasks.
  template <class Serves>
  numbering(const base::per_rank<int>& nodes, const Serves& serves) {
    const int size = static_cast<int>(nodes.size());
    bool any_serves = false;
    for (int rank = 0; rank < size; ++rank) any_serves = any_serves || serves(rank);
    count_ = static_cast<std::uint32_t>(size);
    if (!any_serves && std::is_sorted(nodes.begin(), nodes.end())) return;
    for (int rank = 0; rank < size; ++rank) {
      if (!serves(rank)) ranks_.push_back(rank);
    }
    std::stable_sort(ranks_.begin(), ranks_.end(), [&](int a, int b) { return nodes[a] < nodes[b]; });
    count_ = static_cast<std::uint32_t>(ranks_.size());
    numbers_.assign(nodes.size(), count_);
    for (std::uint32_t i = 0; i < count_; ++i) numbers_[static_cast<std::size_t>(ranks_[i])] = i;
  }

  /// How many there are.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  /// The rank of worker NUMBER, or of the last one.
  [[nodiscard]] int rank_of(std::uint32_t number) const noexcept {
    const std::uint32_t at = std::min(number, count_ - 1);
    return ranks_.empty() ? static_cast<int>(at) : ranks_[at];
  }
  /// The number of the worker with RANK; count() where it has none.
  [[nodiscard]] std::uint32_t number_of(int rank) const noexcept {
    return numbers_.empty() ? static_cast<std::uint32_t>(rank) : numbers_[static_cast<std::size_t>(rank)];
  }
  /// The numbers of the node of RANK.
  [[nodiscard]] numbers node_of(int rank, const base::per_rank<int>& nodes) const noexcept {
    const std::uint32_t own = number_of(rank);
    numbers all{own, std::min(own + 1, count_)};
    while (all.first > 0 && nodes[rank_of(all.first - 1)] == nodes[rank]) --all.first;
    while (all.last < count_ && nodes[rank_of(all.last)] == nodes[rank]) ++all.last;
    return all;
  }

 private:
  std::uint32_t count_ = 1;
  std::vector<int> ranks_;              // by number; empty where both are the same
  std::vector<std::uint32_t> numbers_;  // by rank
};

}  // namespace tobi::sched
