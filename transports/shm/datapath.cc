// SPDX-License-Identifier: Apache-2.0
// shm: the operations, on the mapped memory.
#include "transports/cpu_ops.hpp"
#include "transports/shm/shm.hpp"

namespace tobi::transports::shm {

status shm_transport::post(int rank, std::span<const op> ops) noexcept {
  if (ops.empty() || ops.size() > caps_.chain_max) return status::invalid;
  for (const op& o : ops) {
    const peer_memory::region* r = memory_.find(rank, o.region);
    if (r == nullptr || !in_range(o, r->bytes, caps_.put_max)) return status::invalid;
  }
  if (execute(ops, [this](region_id id) { return memory_.base(id); })) puts_under_way_ = true;
  return status::ok;
}

// Every operation was executed when post() returned.
status shm_transport::flush(int rank) noexcept {
  if (puts_under_way_) {
    complete_puts();
    puts_under_way_ = false;
  }
  return rank >= 0 && rank < size_ ? status::ok : status::invalid;
}

}  // namespace tobi::transports::shm
