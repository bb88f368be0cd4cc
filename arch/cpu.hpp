// The few instructions that C++ has no name for, and the fences by name, with what each costs on the two architectures.
#pragma once

#include <atomic>

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

/// No load or store moves over it, in either direction. The only fence that orders a store before a later load, and the
/// only one that costs on x86-64: a locked operation on the stack there, `dmb ish` on AArch64.
inline void full_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
/// Earlier loads are done before anything later: no instruction on x86-64, `dmb ishld` on AArch64.
inline void acquire_fence() noexcept { std::atomic_thread_fence(std::memory_order_acquire); }
/// Everything earlier is done before later stores: no instruction on x86-64, `dmb ish` on AArch64.
inline void release_fence() noexcept { std::atomic_thread_fence(std::memory_order_release); }

}  // namespace tobi::arch
