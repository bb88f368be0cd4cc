// SPDX-License-Identifier: Apache-2.0
// Seconds of a call, and calls that last so long without work.
#pragma once

#include <errno.h>
#include <time.h>

#include <chrono>
#include <cstdint>

#include "tools/samples.hpp"

namespace tobi_bench {

using tobi_tools::median;

template <class F>
double seconds_of(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline constexpr std::uint64_t second_ns = 1'000'000'000;

inline std::uint64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * second_ns + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Its end is a point in time, so a sleep that a signal interrupts goes on to where it would have ended.
inline void sleep_until(std::uint64_t end_ns) noexcept {
  const timespec until{static_cast<time_t>(end_ns / second_ns), static_cast<long>(end_ns % second_ns)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
}

}  // namespace tobi_bench
