// SPDX-License-Identifier: Apache-2.0
// self: the operations. A chain is checked whole before its first operation is executed, so that a refusal has had no
// effect.
#include "transports/cpu_ops.hpp"
#include "transports/self/self.hpp"

namespace tobi::transports::self {

status self_transport::post(int rank, std::span<const op> ops) noexcept {
  if (rank != rank_ || ops.empty() || ops.size() > caps_.chain_max) return status::invalid;
  for (const op& o : ops) {
    if (o.region >= regions_.size() || !in_range(o, regions_[o.region].bytes, caps_.put_max)) return status::invalid;
  }
  execute_whole(ops, [this](region_id id) { return regions_[id].base; });
  return status::ok;
}

// Every operation was complete when post() returned.
status self_transport::flush(int rank) noexcept { return rank == rank_ ? status::ok : status::invalid; }

}  // namespace tobi::transports::self
