// SPDX-License-Identifier: Apache-2.0
// Where a signal has interrupted the program: what its handler's third argument says.
#pragma once

#include <ucontext.h>

namespace tobi::arch {

[[nodiscard]] inline const void* interrupted_code(const void* context) noexcept {
  const auto& at = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(at.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(at.pc);
#endif
}

}  // namespace tobi::arch
