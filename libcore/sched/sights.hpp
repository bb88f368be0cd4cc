// SPDX-License-Identifier: Apache-2.0
// What the workers of a node look like to thieves of other nodes: a byte each, side by side in the memory of the node's
// first rank.
//
// A thief can glance at a worker of its own node, whose window is mapped memory, for a cache miss. At one of another
// node a look is a round trip, and on a fabric that is driven by the processors it also wakes a process there. Where
// few of a node's workers have work most such looks are in vain. So workers write what they look like, and one get
// tells for a whole node which worker to try. The byte is written by the worker itself where it shows work and where
// tasks begin and end, and by a thief of the same node that has taken something, which knows best what is left.
//
// All of this is a hint: bytes are written in no order, and two writers may leave what the first one saw. So the reader
// takes no worker to be idle forever, and goes by chance now and then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "libcore/base/rng.hpp"
#include "libcore/deque/deque.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/sched/node_ranks.hpp"

namespace tobi::sched {

struct alignas(64) node_sights {
  static constexpr std::size_t most = 1024;  // workers of a node; the others are unknown
  std::uint8_t of[most];                     // 0: unknown; else 1 + a sight
};

class sights {
 public:
  /// OWN has the same offset in everybody's heap. NODES: of each rank. NEAR: the other ranks of this node that run
  /// tasks. Without others there is nothing to do.
  void start(net::fabric& net, deque::deque& work, node_sights& own, const base::per_rank<int>& nodes,
             std::vector<int> near, bool far);
  /// What RANK looks like now, if it is of this node.
  void tell(int rank) noexcept;
  void tell() noexcept {
    if (here_ != nullptr) tell(net_->rank());
  }
  /// Which worker to try of the node of PARTNER: itself, if others have no more; -1: nobody has anything. One round
  /// trip, unless PARTNER is alone there.
  [[nodiscard]] int choose(int partner, base::rng& rng);

 private:
  net::fabric* net_ = nullptr;
  deque::deque* work_ = nullptr;
  node_ranks nodes_;
  std::uint64_t offset_ = 0;       // of node_sights, in a heap
  std::vector<int> here_ranks_;    // of this node, in order
  std::uint8_t* here_ = nullptr;   // this node's; null: nobody would look, or the first rank's memory is out of reach
  std::vector<int> there_ranks_;   // of the node that was looked at last
  std::vector<std::uint8_t> got_;  // of them
};

}  // namespace tobi::sched
