// SPDX-License-Identifier: Apache-2.0
// AArch64: what arch/cpu.hpp promises.
#pragma once

#include <cstdint>

namespace tobi::arch {

// `yield` does nothing on most cores; an isb empties the pipeline and so waits about as long as a pause of x86-64.
inline void pause() noexcept { asm volatile("isb" ::: "memory"); }

inline std::uint64_t cycles() noexcept {
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}

// The firmware writes the rate of the virtual counter here; the kernel lets every program read it.
inline double cycles_per_second_known() noexcept {
  std::uint64_t hertz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
  return static_cast<double>(hertz);
}

}  // namespace tobi::arch
