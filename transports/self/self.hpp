// SPDX-License-Identifier: Apache-2.0
// The smallest transport that keeps the contract: one worker, which is its own only peer. It is the template for a
// port: the same files in the same order, each operation as plainly as it can be said. A backend for a real fabric
// differs in setup.cc (opening a device, exchanging addresses) and in what a posted operation becomes in datapath.cc.
#pragma once

#include <vector>

#include "transports/transport.hpp"

namespace tobi::transports::self {

class self_transport final : public transport {
 public:
  explicit self_transport(const context& where);

  [[nodiscard]] std::string_view name() const noexcept override { return "self"; }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string address() const override { return {}; }
  status connect(std::span<const std::string> addresses) override;
  status register_memory(const memory& local, region_key& key) override;
  status deregister_memory(const region_key& key) override;
  status attach(int rank, const region_key& key, region_id& id) override;
  [[nodiscard]] std::byte* map(region_id id) noexcept override;

  status post(int rank, std::span<const op> ops) noexcept override;
  status flush(int rank) noexcept override;

 private:
  struct region {
    std::byte* base = nullptr;
    std::size_t bytes = 0;  // 0: deregistered
  };
  int rank_;
  capabilities caps_;
  std::vector<region> regions_;  // a key and an id are both an index into it
};

}  // namespace tobi::transports::self
