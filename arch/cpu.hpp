// SPDX-License-Identifier: Apache-2.0
// The few instructions that C++ has no name for.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/cpu_impl.hpp"
#elif defined(__aarch64__)
#include "arch/aarch64/cpu_impl.hpp"
#else
#error "Tobiuo knows x86-64 and AArch64"
#endif

namespace tobi::arch {

// From the architecture's cpu_impl.hpp:
//   pause()                    tells the core that this is a waiting loop
//   cycles()                   the counter of constant rate (TSC; virtual counter of AArch64). Cheap, and not ordered
//                              with the instructions around it
//   cycles_per_second_known()  the rate where the machine names it, or 0

}  // namespace tobi::arch
