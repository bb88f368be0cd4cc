// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/poller.hpp"

#include <algorithm>

#include "arch/cpu.hpp"

namespace tobi::tasks {

namespace {

// A task that forks polls so often: at about 100 ns per poll and 10 ns per fork it costs less than the forks
// themselves, and a thief waits for less than a microsecond. Where forks are rarer, each some 10 us.
constexpr std::uint64_t forks_between_polls = 32;
constexpr std::uint64_t cycles_between_polls = 1 << 15;

}  // namespace

void poller::poll() noexcept {
  const std::uint64_t now = arch::cycles();
  const std::uint64_t per_fork = (now - polled_at_) / polled_after_ + 1;
  std::atomic_ref(polled_at_).store(now, std::memory_order_relaxed);
  polled_after_ = std::clamp(cycles_between_polls / per_fork, std::uint64_t{1}, forks_between_polls);
  until_poll_ = static_cast<unsigned>(polled_after_);
  transport_->progress();
}

}  // namespace tobi::tasks
