// SPDX-License-Identifier: Apache-2.0
// The stack protector's canary. A function stores it in its frame and compares at its end, so a frame that moved to
// another process ends well only where the canaries are equal. Forked processes have one; those that a launcher started
// take rank 0's.
#pragma once

#include <cstdint>

namespace tobi::bootstrap {

[[nodiscard]] std::uintptr_t canary() noexcept;

/// Makes FRESH the canary of this thread, also in its live frames, so that functions that are running now end well too.
/// Other threads: on x86-64 each has a copy of its own and keeps it. On AArch64 there is one for all, so each thread is
/// stopped in a handler that puts the frames right. Fatal where that cannot be done.
void adopt_canary(std::uintptr_t fresh);

}  // namespace tobi::bootstrap
