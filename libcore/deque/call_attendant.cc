// SPDX-License-Identifier: Apache-2.0
#include "libcore/deque/call_attendant.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace tobi::deque {

bool call_attendant(steal_window& window) noexcept {
  const std::atomic_ref attendant(window.attendant);
  auto seen = static_cast<std::uint32_t>(attending::asleep);
  if (attendant.load(std::memory_order_relaxed) != seen) return false;
  // A lost race needs no order.
  if (!attendant.compare_exchange_strong(seen, static_cast<std::uint32_t>(attending::called), std::memory_order_release,
                                         std::memory_order_relaxed)) {
    return false;
  }
  syscall(SYS_futex, &window.attendant, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  return true;
}

}  // namespace tobi::deque
