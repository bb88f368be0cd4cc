// SPDX-License-Identifier: Apache-2.0
// x86-64: what arch/context.hpp promises of cut_from_parent().
#pragma once

#include <cstdint>

extern "C" void tobi_moved_return() __attribute__((visibility("hidden")));

namespace tobi::arch {

// The call in tobi_fork has left its return address right below the parent's frame, which is where the child's begin.
inline void cut_from_parent(std::uintptr_t base) noexcept {
  *reinterpret_cast<std::uintptr_t*>(base - sizeof base) = reinterpret_cast<std::uintptr_t>(&tobi_moved_return);
}

}  // namespace tobi::arch
