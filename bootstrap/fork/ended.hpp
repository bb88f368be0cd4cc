// SPDX-License-Identifier: Apache-2.0
// How a process has ended that is no child of this one.
#pragma once

#include <sys/types.h>

#include <optional>

namespace tobi::bootstrap::forked {

/// As waitpid() would say it, while the parent of PROCESS has not asked; else nothing. Callable from signal handlers.
[[nodiscard]] std::optional<int> status_of_ended(pid_t process) noexcept;

}  // namespace tobi::bootstrap::forked
