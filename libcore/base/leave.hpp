// SPDX-License-Identifier: Apache-2.0
// The end of a process without the program's own (exit handlers, destructors): where the job has failed.
#pragma once

#include <unistd.h>

namespace tobi::base {

using last_act = void (*)() noexcept;
/// What leave() calls first. It may be called in a signal handler.
inline constinit last_act at_last = nullptr;

/// _exit(STATUS), when what was written has arrived (TOBI_LABEL). Callable in a signal handler.
[[noreturn]] inline void leave(int status) noexcept {
  if (at_last != nullptr) at_last();
  _exit(status);
}

}  // namespace tobi::base
