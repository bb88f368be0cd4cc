// The few instructions that C++ has no name for.
#pragma once

namespace tobi::arch {

/// Tells the core that this is a waiting loop: `pause` on x86-64, `isb` on AArch64 (where `yield` does nothing on most
/// cores, and an isb waits about as long as a pause).
inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#else
#error "Tobiuo knows x86-64 and AArch64"
#endif
}

}  // namespace tobi::arch
