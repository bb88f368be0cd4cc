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

// Dekker: the caller has stored what it brings, and looks at the state. An attendant that has found nothing stores that
// as its state, and looks once more at what was brought (presence::attend). At least one sees the other.
void bring_to_attendant(steal_window& window) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto seen = static_cast<std::uint32_t>(attending::idle);
  // From now on thieves call it again, too.
  std::atomic_ref(window.attendant)
      .compare_exchange_strong(seen, static_cast<std::uint32_t>(attending::asleep), std::memory_order_relaxed);
  if (std::atomic_ref(window.busy).load(std::memory_order_relaxed) != 0) call_attendant(window);
}

}  // namespace tobi::deque
