// SPDX-License-Identifier: Apache-2.0
// Polls a transport that stands still unless it is polled, now and then, while tasks run: at slow forks and returns, at
// joins, and where a task that is tied to its worker looks for a child.
#pragma once

#include <atomic>
#include <cstdint>

#include "transports/transport.hpp"

namespace tobi::tasks {

class poller {
 public:
  /// Whether a transport stands still unless it is polled, here or at its targets.
  [[nodiscard]] static bool must_poll(const transports::capabilities& caps) noexcept {
    return !caps.passive_rma || !caps.passive_amo || caps.needs_progress;
  }

  void start(transports::transport& transport) noexcept {
    transport_ = &transport;
    must_poll_ = must_poll(transport.caps());
  }
  [[nodiscard]] bool must_poll() const noexcept { return must_poll_; }
  void keep_moving() noexcept {
    if (must_poll_ && --until_poll_ == 0) poll();
  }
  /// Changes whenever keep_moving() has polled. Callable from any thread.
  [[nodiscard]] std::uint64_t sign_of_life() const noexcept {
    return std::atomic_ref(const_cast<std::uint64_t&>(polled_at_)).load(std::memory_order_relaxed);
  }

 private:
  void poll() noexcept;

  transports::transport* transport_ = nullptr;
  bool must_poll_ = false;
  unsigned until_poll_ = 1;         // calls until the transport is polled again
  std::uint64_t polled_at_ = 0;     // cycles; atomic for sign_of_life()
  std::uint64_t polled_after_ = 1;  // calls that the last poll waited for
};

}  // namespace tobi::tasks
