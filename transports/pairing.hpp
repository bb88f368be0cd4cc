// SPDX-License-Identifier: Apache-2.0
// Whose memory a rank works on while a transport is measured. In a job of several nodes that is a rank of another node:
// inside a node a library may well use shared memory, which says nothing of the network.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "libcore/base/per_rank.hpp"

namespace tobi::transports {

struct pairing {
  int partner;        // works in the other half's time: while one of the two sleeps the other does not
  bool sleeps_first;  // its half of the ranks sleeps first, and its partner does not
};

/// NODES: of each rank, numbered from 0; empty: all are on one. Two RANKS or more.
[[nodiscard]] inline pairing pair_up(int rank, int ranks, const base::per_rank<int>& nodes) {
  const auto neighbour = [](int i, int n) { return (i ^ 1) < n ? i ^ 1 : i - 1; };
  const int last = nodes.empty() ? 0 : *std::max_element(nodes.begin(), nodes.begin() + ranks);
  if (last == 0) return {neighbour(rank, ranks), rank % 2 == 0};
  const int node = nodes[rank];
  const int other = neighbour(node, last + 1);
  int place = 0;
  std::vector<int> there;
  for (int r = 0; r < ranks; ++r) {
    if (nodes[r] == other) there.push_back(r);
    if (r < rank && nodes[r] == node) ++place;
  }
  return {there[static_cast<std::size_t>(place) % there.size()], node % 2 == 0};
}

}  // namespace tobi::transports
