// SPDX-License-Identifier: Apache-2.0
// A transport between threads of one process, which does nothing but execute operations on memory: rank R's is what the
// test says. So ThreadSanitizer sees all sides of a protocol.
#pragma once

#include <utility>
#include <vector>

#include "played_transport.hpp"
#include "transports/cpu_ops.hpp"

class memory_transport final : public played_transport {
 public:
  /// BASES: by rank. MAPS: whether map() returns them, too.
  memory_transport(std::vector<std::byte*> bases, bool maps) : bases_(std::move(bases)), maps_(maps) {
    caps_.chain_max = 16;
    caps_.put_max = 1 << 20;
    caps_.scope = tobi::transports::amo_scope::host;
  }
  tobi::status attach(int rank, const tobi::transports::region_key&, tobi::transports::region_id& id) override {
    id = static_cast<tobi::transports::region_id>(rank);
    return tobi::status::ok;
  }
  [[nodiscard]] std::byte* map(tobi::transports::region_id id) noexcept override {
    return maps_ ? bases_[id] : nullptr;
  }
  tobi::status post(int, std::span<const tobi::transports::op> ops) noexcept override {
    tobi::transports::execute_whole(ops, [this](tobi::transports::region_id id) { return bases_[id]; });
    return tobi::status::ok;
  }

 private:
  std::vector<std::byte*> bases_;
  bool maps_;
};
