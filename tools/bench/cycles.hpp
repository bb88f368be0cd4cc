// SPDX-License-Identifier: Apache-2.0
// The core's counter, in which the papers give what is short.
#pragma once

#include <chrono>
#include <cstdint>

namespace tobi_bench {

inline std::uint64_t cycles_now() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  // Without one that programs may read: nanoseconds.
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

}  // namespace tobi_bench
