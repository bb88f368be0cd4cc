// SPDX-License-Identifier: Apache-2.0
// shm: what is claimed, and which ranks it serves. The mapping itself is in transports/peer_memory.
#include "transports/port.hpp"
#include "transports/shm/shm.hpp"

namespace tobi::transports::shm {

namespace {

std::string unusable(const context& where) {
  return where.single_node() ? "" : "it serves the workers of one node, and this job has several nodes";
}

}  // namespace

std::unique_ptr<transport> create(const context& where) { return std::make_unique<shm_transport>(where); }

port entry() { return {.unusable = unusable, .create = create}; }

shm_transport::shm_transport(const context& where) : size_(where.size), memory_(where.rank, where.size) {
  caps_.fetch_add = true;
  caps_.compare_swap = true;
  caps_.scope = amo_scope::host;
  caps_.passive_rma = true;
  caps_.passive_amo = true;
  caps_.maps_peers = true;
  caps_.ordered_gets = true;
  caps_.chain_max = 16;
  caps_.inline_max = 0xffff'ffff;  // a put has been executed when post() returns, whatever its size
  caps_.put_max = std::uint64_t{1} << 40;
}

status shm_transport::connect(std::span<const std::string> addresses) {
  return addresses.size() == static_cast<std::size_t>(size_) ? status::ok : status::invalid;
}

}  // namespace tobi::transports::shm
