// SPDX-License-Identifier: Apache-2.0
// A transport that a test plays: there is nobody to connect to and nothing to register, and an operation is complete
// when it is posted. A test adds what its device does.
#pragma once

#include <span>
#include <string>

#include "transports/transport.hpp"

struct played_transport : tobi::transports::transport {
  [[nodiscard]] std::string_view name() const noexcept override { return "played"; }
  [[nodiscard]] const tobi::transports::capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string address() const override { return {}; }
  tobi::status connect(std::span<const std::string>) override { return tobi::status::ok; }
  tobi::status register_memory(const tobi::transports::memory&, tobi::transports::region_key&) override {
    return tobi::status::ok;
  }
  tobi::status deregister_memory(const tobi::transports::region_key&) override { return tobi::status::ok; }
  tobi::status attach(int, const tobi::transports::region_key&, tobi::transports::region_id&) override {
    return tobi::status::ok;
  }
  [[nodiscard]] std::byte* map(tobi::transports::region_id) noexcept override { return nullptr; }
  tobi::status flush(int) noexcept override { return tobi::status::ok; }

 protected:
  tobi::transports::capabilities caps_;
};
