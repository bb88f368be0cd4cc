// SPDX-License-Identifier: Apache-2.0
// A transport that hands everything to another one. A decorator overrides what it looks at.
#pragma once

#include <memory>
#include <utility>

#include "transports/transport.hpp"

namespace tobi::transports::decorators {

class decorator : public transport {
 public:
  explicit decorator(std::unique_ptr<transport> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  [[nodiscard]] const capabilities& caps() const noexcept override { return inner_->caps(); }
  [[nodiscard]] std::string describe() const override { return inner_->describe(); }
  [[nodiscard]] std::string dialect() const override { return inner_->dialect(); }
  [[nodiscard]] std::string why_not_registered() const override { return inner_->why_not_registered(); }
  [[nodiscard]] std::string why_not_reached() const override { return inner_->why_not_reached(); }
  [[nodiscard]] std::string address() const override { return inner_->address(); }
  status connect(std::span<const std::string> addresses) override { return inner_->connect(addresses); }
  void measure(meeting& with) override { inner_->measure(with); }
  status register_memory(const memory& local, region_key& key) override { return inner_->register_memory(local, key); }
  status deregister_memory(const region_key& key) override { return inner_->deregister_memory(key); }
  status attach(int rank, const region_key& key, region_id& id) override { return inner_->attach(rank, key, id); }
  [[nodiscard]] std::byte* map(region_id id) noexcept override { return inner_->map(id); }
  [[nodiscard]] bool serves_only(int rank) const noexcept override { return inner_->serves_only(rank); }

  status post(int rank, std::span<const op> ops) noexcept override { return post_as(rank, ops, true); }
  status post_unordered(int rank, std::span<const op> ops) noexcept override { return post_as(rank, ops, false); }
  status flush(int rank) noexcept override { return inner_->flush(rank); }
  status put_notify(int rank, const op& put, std::uint64_t data) noexcept override {
    return inner_->put_notify(rank, put, data);
  }
  status poll_notice(notice& got) noexcept override { return inner_->poll_notice(got); }
  void progress() noexcept override { inner_->progress(); }
  [[nodiscard]] int wait_fd() const noexcept override { return inner_->wait_fd(); }
  [[nodiscard]] bool may_sleep() noexcept override { return inner_->may_sleep(); }

 protected:
  /// post() where IN_ORDER, else post_unordered().
  virtual status post_as(int rank, std::span<const op> ops, bool in_order) noexcept {
    return in_order ? inner_->post(rank, ops) : inner_->post_unordered(rank, ops);
  }
  [[nodiscard]] transport& inner() noexcept { return *inner_; }

 private:
  std::unique_ptr<transport> inner_;
};

std::unique_ptr<transport> make_stats(std::unique_ptr<transport> inner, const context& where);
std::unique_ptr<transport> make_trace(std::unique_ptr<transport> inner, const context& where);
std::unique_ptr<transport> make_fault(std::unique_ptr<transport> inner, const context& where);
/// "" or what is wrong with TOBI_FAULT.
std::string check_fault(const base::settings& in_force);

}  // namespace tobi::transports::decorators
