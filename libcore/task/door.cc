// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/door.hpp"

#include <sched.h>
#include <time.h>

#include "arch/cpu.hpp"

namespace tobi::tasks {

// A visit takes microseconds, but the visitor may have lost its core, perhaps to us.
void door::wait_for_visitor() noexcept {
  constexpr unsigned eager = 256;
  constexpr unsigned yielding = 1024;
  for (unsigned spins = 0; visited_.load(std::memory_order_acquire); ++spins) {
    if (spins < eager) {
      arch::pause();
    } else if (spins < yielding) {
      sched_yield();
    } else {
      const timespec nap{0, 20'000};
      nanosleep(&nap, nullptr);
    }
  }
}

}  // namespace tobi::tasks
