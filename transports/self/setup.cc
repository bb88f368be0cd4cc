// SPDX-License-Identifier: Apache-2.0
// self: what happens before the first operation. Nothing here is fast, and nothing here needs to be.
#include <cstring>

#include "transports/port.hpp"
#include "transports/self/self.hpp"

namespace tobi::transports::self {

namespace {

std::string unusable(const context& where) {
  return where.size == 1 ? "" : "it serves a job of one worker, and this one has " + std::to_string(where.size);
}

std::unique_ptr<transport> create(const context& where) { return std::make_unique<self_transport>(where); }

}  // namespace

port entry() { return {.unusable = unusable, .create = create}; }

// A capability is claimed if and only if it works; tobi-conform tests both ways.
self_transport::self_transport(const context& where) : rank_(where.rank) {
  caps_.fetch_add = true;
  caps_.compare_swap = true;
  caps_.scope = amo_scope::host;
  caps_.passive_rma = true;
  caps_.passive_amo = true;
  caps_.maps_peers = true;
  caps_.registers_any_memory = true;
  caps_.ordered_gets = true;
  caps_.chain_max = 16;
  caps_.inline_max = 0xffff'ffff;  // a put has been executed when post() returns, whatever its size
  caps_.put_max = std::uint64_t{1} << 40;
}

status self_transport::connect(std::span<const std::string> addresses) {
  return addresses.size() == 1 ? status::ok : status::invalid;
}

status self_transport::register_memory(const memory& local, region_key& key) {
  if (local.base == nullptr || local.bytes == 0) return status::invalid;
  const std::uint64_t index = regions_.size();
  regions_.push_back({static_cast<std::byte*>(local.base), local.bytes});
  key = {};
  std::memcpy(key.bytes.data(), &index, sizeof index);
  return status::ok;
}

status self_transport::deregister_memory(const region_key& key) {
  region_id id = 0;
  if (attach(rank_, key, id) != status::ok) return status::invalid;
  regions_[id] = {};
  return status::ok;
}

// A key comes from outside: nothing in it is believed before it is checked.
status self_transport::attach(int rank, const region_key& key, region_id& id) {
  std::uint64_t index = 0;
  std::memcpy(&index, key.bytes.data(), sizeof index);
  if (rank != rank_ || index >= regions_.size() || regions_[index].bytes == 0) return status::invalid;
  id = static_cast<region_id>(index);
  return status::ok;
}

std::byte* self_transport::map(region_id id) noexcept { return id < regions_.size() ? regions_[id].base : nullptr; }

}  // namespace tobi::transports::self
