// SPDX-License-Identifier: Apache-2.0
// AArch64: what arch/context.hpp promises of cut_from_parent().
#pragma once

#include <cstdint>

namespace tobi::arch {

// The child has saved its return address where it liked. The return path compares the stack pointer first, instead.
inline void cut_from_parent(std::uintptr_t) noexcept {}

}  // namespace tobi::arch
