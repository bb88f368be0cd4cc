// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/travel.hpp"

#include <string>

#include "libcore/base/log.hpp"

namespace tobi::sched {

void travel::start(const worker_parts& parts, scheduler& moves) noexcept {
  net_ = parts.net;
  nodes_ = parts.nodes;
  debug_migrate_ = parts.debug_migrate;
  sched_ = &moves;
}

// What RANK has is as near to any other worker of its node.
int travel::computing_near(int rank) const noexcept {
  const transports::transport& over = net_->transport();
  if (!over.serves_only(rank)) return rank;
  for (int r = 0; r < net_->size(); ++r) {
    if ((*nodes_)[r] == (*nodes_)[rank] && !over.serves_only(r)) return r;
  }
  return net_->rank();
}

void travel::go_to(int rank, bool tied) {
  thread_.must_run_tasks_here("tobi::migrate_to (or a loop that begins at the owners of its data)");
  poller_.keep_moving();
  fences_.may_move("migrate_to");
  if (rank < 0 || rank >= net_->size()) {
    base::fatal("tobi::migrate_to was given rank " + std::to_string(rank) + "; there are ranks 0 to " +
                    std::to_string(net_->size() - 1) + ".",
                base::exit_usage);
  }
  sched_->go_to(computing_near(rank), tied);
}

// A mistake of the program's is one that it would make at the pattern's next fork.
void travel::deal_to(int rank) {
  poller_.keep_moving();
  fences_.may_move("fork");
  sched_->go_to(rank, false);
}

bool travel::on_many_nodes(int first, int count) const noexcept {
  const base::per_rank<int>& nodes = *nodes_;
  const int size = net_->size();
  for (int i = 1; i < count; ++i) {
    if (nodes[(first + i) % size] != nodes[first]) return true;
  }
  return false;
}

}  // namespace tobi::sched
