// SPDX-License-Identifier: Apache-2.0
// Workers of one node: each maps the others' memory, and the initiator's CPU executes the operations. Nothing runs at
// the target, so everything is passive, and atomics are the CPU's own (scope host).
#pragma once

#include "transports/peer_memory.hpp"
#include "transports/transport.hpp"

namespace tobi::transports::shm {

class shm_transport final : public transport {
 public:
  explicit shm_transport(const context& where);

  [[nodiscard]] std::string_view name() const noexcept override { return "shm"; }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string why_not_reached() const override { return memory_.why_not_attached(); }
  [[nodiscard]] std::string address() const override { return {}; }
  status connect(std::span<const std::string> addresses) override;
  status register_memory(const memory& local, region_key& key) override { return memory_.add(local, key); }
  status deregister_memory(const region_key& key) override { return memory_.remove(key); }
  status attach(int rank, const region_key& key, region_id& id) override { return memory_.attach(rank, key, id); }
  [[nodiscard]] std::byte* map(region_id id) noexcept override { return memory_.base(id); }

  status post(int rank, std::span<const op> ops) noexcept override;
  status flush(int rank) noexcept override;

 private:
  int size_;
  capabilities caps_;
  peer_memory memory_;
  bool puts_under_way_ = false;  // to anybody
};

std::unique_ptr<transport> create(const context& where);

}  // namespace tobi::transports::shm
