// SPDX-License-Identifier: Apache-2.0
// x86-64: what arch/cpu.hpp promises.
#pragma once

#include <cstdint>

namespace tobi::arch {

inline void pause() noexcept { __builtin_ia32_pause(); }

inline std::uint64_t cycles() noexcept { return __builtin_ia32_rdtsc(); }

// Neither CPUID nor the kernel names the rate everywhere: clock.hpp measures it.
inline double cycles_per_second_known() noexcept { return 0; }

}  // namespace tobi::arch
