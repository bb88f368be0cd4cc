// SPDX-License-Identifier: Apache-2.0
// Two transports as one: shared memory between ranks of one node, the network between nodes.
//
// Atomics take one route in a job. Where the network's atomics are atomic with the CPU's (scope host), those of one
// node go through shared memory; otherwise every one goes through the network, also a worker's on its own words, and a
// chain with an atomic in it goes there as a whole, because its order is worth nothing across two routes.
#pragma once

#include <vector>

#include "libcore/base/per_rank.hpp"
#include "transports/transport.hpp"

namespace tobi::transports::route {

class route_transport final : public transport {
 public:
  route_transport(const context& where, std::unique_ptr<transport> near, std::unique_ptr<transport> far);

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string dialect() const override { return far_->dialect(); }
  [[nodiscard]] std::string why_not_registered() const override { return far_->why_not_registered(); }
  [[nodiscard]] std::string why_not_reached() const override;
  [[nodiscard]] std::string address() const override;
  status connect(std::span<const std::string> addresses) override;
  void measure(meeting& with) override;
  status register_memory(const memory& local, region_key& key) override;
  status deregister_memory(const region_key& key) override;
  status attach(int rank, const region_key& key, region_id& id) override;
  [[nodiscard]] std::byte* map(region_id id) noexcept override;
  [[nodiscard]] bool serves_only(int rank) const noexcept override { return far_->serves_only(rank); }

  status post(int rank, std::span<const op> ops) noexcept override { return post_as(rank, ops, &transport::post); }
  status post_unordered(int rank, std::span<const op> ops) noexcept override {
    return post_as(rank, ops, &transport::post_unordered);
  }
  status flush(int rank) noexcept override;
  status put_notify(int rank, const op& o, std::uint64_t data) noexcept override;
  status poll_notice(notice& n) noexcept override { return far_->poll_notice(n); }
  void progress() noexcept override { far_->progress(); }
  [[nodiscard]] int wait_fd() const noexcept override { return far_->wait_fd(); }
  [[nodiscard]] bool may_sleep() noexcept override { return far_->may_sleep(); }

 private:
  struct region {
    int rank;
    bool mapped;  // by the near transport
    region_id near;
    region_id far;
  };
  void take_route_of_atomics() noexcept;
  using posting = status (transport::*)(int, std::span<const op>) noexcept;  // post or post_unordered
  status post_as(int rank, std::span<const op> ops, posting how) noexcept;
  status post_by(transport& way, int rank, std::span<const op> ops, bool near, posting how) noexcept;

  std::string name_;
  int size_;
  base::per_rank<char> is_near_;      // by rank
  base::per_rank<char> far_pending_;  // something was posted to a near rank by the far way
  std::unique_ptr<transport> near_;
  std::unique_ptr<transport> far_;
  bool near_atomics_ = false;
  capabilities caps_;
  std::vector<region> regions_;
};

/// FAR alone where no two ranks share a node, else shared memory with it.
std::unique_ptr<transport> with_shared_memory(const context& where, std::unique_ptr<transport> far);

}  // namespace tobi::transports::route
