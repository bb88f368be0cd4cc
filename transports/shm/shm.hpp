// Workers of one node: each maps the others' memory, and the initiator's CPU executes the operations. Nothing runs at
// the target, so everything is passive, and atomics are the CPU's own (scope host).
#pragma once

#include <vector>

#include "transports/transport.hpp"

namespace tobi::transports::shm {

class shm_transport final : public transport {
 public:
  explicit shm_transport(const context& where);
  ~shm_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "shm"; }
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
    int rank = -1;
    std::byte* base = nullptr;
    std::size_t bytes = 0;  // 0: no longer usable
    bool mapped_here = false;
  };
  struct own_region {
    region_key key;
    memory where;
  };
  int rank_;
  int size_;
  capabilities caps_;
  std::vector<region> regions_;  // attached ones, by id
  std::vector<own_region> own_;
};

std::string unusable(const context& where);
std::unique_ptr<transport> create(const context& where);

}  // namespace tobi::transports::shm
