// SPDX-License-Identifier: Apache-2.0
// Tasks that are long, for tests of how fast work reaches idle workers: leaves that sleep, so that 16 workers fit on
// two cores, and the time within which a program of them must end.
#pragma once

#include <errno.h>
#include <time.h>

#include <cstdint>

#include "arch/clock.hpp"

namespace coarse {

/// Its end is a point in time, so a sleep that a signal interrupts goes on.
inline void sleep_ms(double ms) noexcept {
  const std::uint64_t end = tobi::arch::now_ns() + static_cast<std::uint64_t>(ms * 1e6);
  const timespec until{static_cast<time_t>(end / 1'000'000'000), static_cast<long>(end % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
}

/// What tests grant beside what the scheduler promises. Sixteen workers share two cores: whoever wakes up, from a leaf
/// or from the nap between two attempts to steal, may have to wait for a core for a time slice or two of some 3 ms, and
/// that may happen to the thief and to its victim at each of the few steals on the longest path. A leaf that starves
/// has more than that to wait for: the end of others.
constexpr double allowance_ms = 15;

/// T1 / P + O(Tinf), with the factor that tests grant. Milliseconds.
constexpr double bound_ms(double work_ms, double span_ms, int workers) noexcept {
  return work_ms / workers + 3 * span_ms + allowance_ms;
}

/// How long F takes, on the worker that asks.
template <class F>
double time_ms(F f) {
  const std::uint64_t begin = tobi::arch::now_ns();
  f();
  return static_cast<double>(tobi::arch::now_ns() - begin) / 1e6;
}

}  // namespace coarse
