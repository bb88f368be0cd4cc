// SPDX-License-Identifier: Apache-2.0
// Time: nanoseconds that only grow, the same on all workers of a node; and the core's own counter in nanoseconds, for
// what is too short to ask the kernel about.
#pragma once

#include <time.h>

#include <cstdint>

#include "arch/cpu.hpp"

namespace tobi::arch {

inline std::uint64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

namespace detail {

/// Both clocks at the same moment, or as near as a few tries allow: an interrupt between the readings would be an error
/// of the rate.
struct both_clocks {
  std::uint64_t cycle = 0;
  std::uint64_t ns = 0;
};
inline both_clocks read_both_clocks() noexcept {
  both_clocks best;
  std::uint64_t narrowest = ~std::uint64_t{0};
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t before = cycles();
    const std::uint64_t ns = now_ns();
    const std::uint64_t width = cycles() - before;
    if (width < narrowest) {
      narrowest = width;
      best = {before + width / 2, ns};
    }
  }
  return best;
}

inline double measure_ns_per_cycle() noexcept {
  if (const double known = cycles_per_second_known(); known > 0) return 1e9 / known;
  constexpr std::uint64_t window_ns = 1'000'000;  // the readings err by some 20 ns: the rate is good to 1 in 10^4
  const both_clocks first = read_both_clocks();
  while (now_ns() - first.ns < window_ns) pause();
  const both_clocks last = read_both_clocks();
  return static_cast<double>(last.ns - first.ns) / static_cast<double>(last.cycle - first.cycle);
}

}  // namespace detail

/// Of cycles(). The first call may take a millisecond; forked processes inherit the answer.
inline double ns_per_cycle() noexcept {
  static const double measured = detail::measure_ns_per_cycle();
  return measured;
}
inline double cycles_to_ns(std::uint64_t count) noexcept { return static_cast<double>(count) * ns_per_cycle(); }

}  // namespace tobi::arch
