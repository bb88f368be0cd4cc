// SPDX-License-Identifier: Apache-2.0
// The ranks of a node, found without a walk over all ranks. Most launchers number the workers of a node one behind the
// other: then the nodes of all ranks are in order already, and the list that the job has is the index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "libcore/base/per_rank.hpp"

namespace tobi::sched {

/// How many different ones there are in NODES, which names the node of each rank, from 0.
inline std::size_t nodes_in(const std::vector<int>& nodes) noexcept {
  return nodes.empty() ? 1 : static_cast<std::size_t>(*std::max_element(nodes.begin(), nodes.end())) + 1;
}

class node_ranks {
 public:
  node_ranks() = default;
  /// NODES: of each rank; outlives this.
  explicit node_ranks(const base::per_rank<int>& nodes) : nodes_(&nodes) {
    in_order_ = std::is_sorted(nodes.begin(), nodes.end());
    if (in_order_) return;
    by_node_.resize(nodes.size());
    std::iota(by_node_.begin(), by_node_.end(), 0);
    std::stable_sort(by_node_.begin(), by_node_.end(), [&](int a, int b) { return of(a) < of(b); });
  }

  /// Calls VISIT with each rank of the node of RANK, in order, until it returns false.
  template <class Visit>
  void each_beside(int rank, Visit visit) const {
    const int node = of(rank);
    if (in_order_) {
      const auto [first, last] = std::equal_range(nodes_->begin(), nodes_->end(), node);
      for (auto at = first; at != last; ++at) {
        if (!visit(static_cast<int>(at - nodes_->begin()))) return;
      }
      return;
    }
    const auto first = std::partition_point(by_node_.begin(), by_node_.end(), [&](int r) { return of(r) < node; });
    for (auto at = first; at != by_node_.end() && of(*at) == node; ++at) {
      if (!visit(*at)) return;
    }
  }

 private:
  [[nodiscard]] int of(int rank) const noexcept { return (*nodes_)[rank]; }

  const base::per_rank<int>* nodes_ = nullptr;
  bool in_order_ = true;
  std::vector<int> by_node_;  // ranks, by node and then by number; empty where they are in order
};

}  // namespace tobi::sched
