// SPDX-License-Identifier: Apache-2.0
#include "transports/soft/placement.hpp"

#include <algorithm>
#include <string>

#include "libcore/base/log.hpp"
#include "libcore/base/per_rank.hpp"

namespace tobi::transports::soft {

namespace {

// The last rank of each rank's node. Rank 0, on which the program's root begins, is never the last of two.
base::per_rank<int> last_of_each_node(const context& where) {
  int nodes = 0;
  for (int r = 0; r < where.size; ++r) nodes = std::max(nodes, where.node_of(r) + 1);
  base::per_rank<int> last(nodes, -1);
  base::per_rank<int> workers(nodes, 0);
  for (int r = 0; r < where.size; ++r) {
    last[where.node_of(r)] = r;
    ++workers[where.node_of(r)];
  }
  for (int node = 0; node < nodes; ++node) {
    if (workers[node] != 1) continue;
    base::fatal_everywhere(where.rank,
                           "TOBI_AMO_SERVER=worker takes one worker of each node for the atomics of the others, and "
                           "node " +
                               std::to_string(node) + " has only rank " + std::to_string(last[node]) +
                               "; start two workers or more per node (TOBI_WORKERS), or use TOBI_AMO_SERVER=thread.",
                           base::exit_usage);
  }
  base::per_rank<int> server;
  for (int r = 0; r < where.size; ++r) server.push_back(last[where.node_of(r)]);
  return server;
}

}  // namespace

placement::placement(const context& where) : place_(where.settings.of<settings>().amo_server), size_(where.size) {
  // The code that makes a transport without atomics has found that native ones are not to be had.
  if (!by_node() && !by_thread()) place_ = amo_place::inline_;
  if (by_node()) server_ = last_of_each_node(where);
}

// Ranks size .. 2*size-1 of the transport underneath are the threads, each on the node of its worker.
context placement::doubled(context where) {
  const std::vector<int> once = where.nodes;
  where.nodes.insert(where.nodes.end(), once.begin(), once.end());
  where.size *= 2;
  return where;
}

context placement::for_thread(const context& where) const {
  context c = doubled(where);
  c.rank += size_;
  return c;
}

std::string_view placement::words() const noexcept {
  if (by_node()) return "executed by the last worker of the target's node, which does nothing else";
  return by_thread() ? "executed by a thread of the target" : "executed when the target polls";
}

}  // namespace tobi::transports::soft
