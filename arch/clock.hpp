// Time: nanoseconds that only grow, the same on all workers of a node; and the core's own counter for finer things.
#pragma once

#include <time.h>

#include <cstdint>

namespace tobi::arch {

inline std::uint64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// The cycle counter (TSC, or the virtual counter of AArch64): constant rate, not ordered with the instructions around
/// it.
inline std::uint64_t cycles() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

}  // namespace tobi::arch
