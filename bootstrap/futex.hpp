// SPDX-License-Identifier: Apache-2.0
// Sleep on a word that others change, of this process or of several.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace tobi::bootstrap {

/// Returns when WORD is no longer SEEN, or somebody wakes, or AT_MOST is over; null: no end.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, const timespec* at_most) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen, at_most, nullptr, 0);
}
inline void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tobi::bootstrap
