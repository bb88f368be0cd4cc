// SPDX-License-Identifier: Apache-2.0
#include "transports/route/route.hpp"

#include <algorithm>
#include <cstring>

#include "libcore/base/log.hpp"
#include "transports/key_parts.hpp"
#include "transports/peer_memory.hpp"
#include "transports/shm/shm.hpp"

namespace tobi::transports::route {

namespace {

// A key holds both transports' content.
constexpr std::size_t near_bytes = sizeof(memory_name);
constexpr std::size_t far_bytes = sizeof(region_key) - near_bytes;
static_assert(far_bytes >= soft_key_bytes_max);

region_key near_part(const region_key& key) {
  region_key part;
  std::memcpy(part.bytes.data(), key.bytes.data(), near_bytes);
  return part;
}
region_key far_part(const region_key& key) {
  region_key part;
  std::memcpy(part.bytes.data(), key.bytes.data() + near_bytes, far_bytes);
  return part;
}

bool is_atomic(const op& o) noexcept { return o.kind == op_kind::fetch_add || o.kind == op_kind::compare_swap; }

}  // namespace

std::unique_ptr<transport> with_shared_memory(const context& where, std::unique_ptr<transport> far) {
  std::vector<int> seen = where.nodes;
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) == seen.end()) return far;
  // Only ranks of this worker's own node are reached by it; to the near transport the job has one node.
  context near = where;
  near.nodes.clear();
  return std::make_unique<route_transport>(where, shm::create(near), std::move(far));
}

route_transport::route_transport(const context& where, std::unique_ptr<transport> near, std::unique_ptr<transport> far)
    : name_(std::string(near->name()) + "+" + std::string(far->name())),
      size_(where.size),
      far_pending_(where.size),
      near_(std::move(near)),
      far_(std::move(far)),
      caps_(far_->caps()) {
  for (int r = 0; r < size_; ++r) is_near_.push_back(where.node_of(r) == where.node_of(where.rank));
  caps_.maps_peers = true;
  caps_.registers_any_memory = false;
  caps_.any_thread = caps_.any_thread && near_->caps().any_thread;
  caps_.inline_max = std::min(caps_.inline_max, near_->caps().inline_max);
  caps_.chain_max = std::min(caps_.chain_max, near_->caps().chain_max);
  caps_.put_max = std::min(caps_.put_max, near_->caps().put_max);
  take_route_of_atomics();
  base::log(base::log_level::info, "route: " + describe() + ".");
}

void route_transport::take_route_of_atomics() noexcept {
  caps_.scope = far_->caps().scope;
  caps_.amo_in_calls = far_->caps().amo_in_calls;
  caps_.peers_max = far_->caps().peers_max;
  near_atomics_ = caps_.scope == amo_scope::host;
  // Neighbours take their share where atomics on their words go through the network.
  if (caps_.peers_max == 0 || near_atomics_) return;
  const auto near_ranks = static_cast<std::uint32_t>(std::count(is_near_.begin(), is_near_.end(), 1)) - 1;
  caps_.peers_max = caps_.peers_max > near_ranks ? caps_.peers_max - near_ranks : 1;
}

void route_transport::measure(meeting& with) {
  far_->measure(with);
  take_route_of_atomics();
  caps_.passive_rma = far_->caps().passive_rma;
  caps_.passive_amo = far_->caps().passive_amo;
  caps_.needs_progress = far_->caps().needs_progress;
  caps_.has_wait_fd = far_->caps().has_wait_fd;
}

std::string route_transport::describe() const {
  return std::string(near_->name()) + " inside a node, " + std::string(far_->name()) + " between nodes (" +
         far_->describe() + "); atomics inside a node by " + std::string(near_atomics_ ? near_->name() : far_->name());
}

std::string route_transport::address() const { return far_->address(); }

status route_transport::connect(std::span<const std::string> addresses) {
  const std::vector<std::string> none(addresses.size());
  if (const status s = near_->connect(none); s != status::ok) return s;
  return far_->connect(addresses);
}

status route_transport::register_memory(const memory& local, region_key& key) {
  region_key near;
  region_key far;
  if (const status s = near_->register_memory(local, near); s != status::ok) return s;
  if (const status s = far_->register_memory(local, far); s != status::ok) {
    near_->deregister_memory(near);
    return s;
  }
  must_keep_to(soft_key_bytes_max, far, *far_);
  std::memcpy(key.bytes.data(), near.bytes.data(), near_bytes);
  std::memcpy(key.bytes.data() + near_bytes, far.bytes.data(), far_bytes);
  return status::ok;
}

status route_transport::deregister_memory(const region_key& key) {
  const status near = near_->deregister_memory(near_part(key));
  const status far = far_->deregister_memory(far_part(key));
  return near != status::ok ? near : far;
}

std::string route_transport::why_not_reached() const {
  const std::string near = near_->why_not_reached();
  return near.empty() ? far_->why_not_reached() : near;
}

status route_transport::attach(int rank, const region_key& key, region_id& id) {
  if (rank < 0 || rank >= size_) return status::invalid;
  region r{rank, is_near_[rank] != 0, 0, 0};
  if (const status s = far_->attach(rank, far_part(key), r.far); s != status::ok) return s;
  if (r.mapped) {
    if (const status s = near_->attach(rank, near_part(key), r.near); s != status::ok) return s;
  }
  regions_.push_back(r);
  id = static_cast<region_id>(regions_.size() - 1);
  return status::ok;
}

std::byte* route_transport::map(region_id id) noexcept {
  return id < regions_.size() && regions_[id].mapped ? near_->map(regions_[id].near) : nullptr;
}

status route_transport::post_by(transport& way, int rank, std::span<const op> ops, bool near, posting how) noexcept {
  constexpr std::size_t most = 16;
  if (ops.empty() || ops.size() > caps_.chain_max || ops.size() > most) return status::invalid;
  op mine[most];
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].region >= regions_.size() || regions_[ops[i].region].rank != rank) return status::invalid;
    mine[i] = ops[i];
    mine[i].region = near ? regions_[ops[i].region].near : regions_[ops[i].region].far;
  }
  return (way.*how)(rank, {mine, ops.size()});
}

status route_transport::post_as(int rank, std::span<const op> ops, posting how) noexcept {
  if (rank < 0 || rank >= size_) return status::invalid;
  if (is_near_[rank] == 0) return post_by(*far_, rank, ops, false, how);
  if (near_atomics_ || std::none_of(ops.begin(), ops.end(), is_atomic)) return post_by(*near_, rank, ops, true, how);
  const status s = post_by(*far_, rank, ops, false, how);
  if (s == status::ok) far_pending_[rank] = 1;
  return s;
}

status route_transport::flush(int rank) noexcept {
  if (rank < 0 || rank >= size_) return status::invalid;
  if (is_near_[rank] != 0) {
    if (const status s = near_->flush(rank); s != status::ok || far_pending_[rank] == 0) return s;
  }
  const status s = far_->flush(rank);
  if (s == status::ok) far_pending_[rank] = 0;
  return s;
}

status route_transport::put_notify(int rank, const op& o, std::uint64_t data) noexcept {
  if (rank < 0 || rank >= size_ || o.region >= regions_.size() || regions_[o.region].rank != rank) {
    return status::invalid;
  }
  op mine = o;
  mine.region = regions_[o.region].far;
  const status s = far_->put_notify(rank, mine, data);
  if (s == status::ok) far_pending_[rank] = 1;
  return s;
}

}  // namespace tobi::transports::route
