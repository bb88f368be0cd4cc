// SPDX-License-Identifier: Apache-2.0
// Time in which the kernel had given this thread's core to somebody else, although the thread wanted to run. It is
// known from three numbers of the kernel: the time by the clock, the thread's time on a core, and whether it has waited
// by itself. Where it has, as a task that sleeps does, the time off the core was its own.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <cstdint>

#include "arch/clock.hpp"

namespace tobi::trace {

class lost_core {
 public:
  /// Of the calling thread, from now on.
  void begin() noexcept { last_ = read(); }
  /// Nanoseconds that the thread has lost since the last call of this or of begin().
  std::uint64_t lost_ns() noexcept {
    const reading before = last_;
    last_ = read();
    if (last_.waited != before.waited) return 0;
    const std::uint64_t wall = last_.wall_ns - before.wall_ns;
    const std::uint64_t core = last_.core_ns - before.core_ns;
    if (wall < core + least_ns) return 0;
    ++interruptions_;
    return wall - core;
  }
  /// How often lost_ns() has found that the core was taken.
  [[nodiscard]] std::uint64_t interruptions() const noexcept { return interruptions_; }

 private:
  static constexpr std::uint64_t least_ns = 5000;  // less is between the readings of the two clocks

  struct reading {
    std::uint64_t wall_ns = 0;
    std::uint64_t core_ns = 0;
    long waited = 0;  // how often the thread has given its core away
  };
  // The two clocks at one moment: where the core was taken between them, they are read again.
  static reading read() noexcept {
    reading now;
    for (int tries = 0; tries < 10; ++tries) {
      const std::uint64_t before = arch::now_ns();
      timespec core{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &core);
      now.wall_ns = arch::now_ns();
      now.core_ns = static_cast<std::uint64_t>(core.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(core.tv_nsec);
      if (now.wall_ns - before < least_ns) break;
    }
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    now.waited = used.ru_nvcsw;
    return now;
  }

  reading last_;
  std::uint64_t interruptions_ = 0;
};

}  // namespace tobi::trace
