// SPDX-License-Identifier: Apache-2.0
// Memory that a job cannot go on without.
#pragma once

#include "libcore/base/log.hpp"

namespace tobi::base {

/// Ends the job with a sentence.
[[noreturn]] inline void no_memory() {
  fatal(
      "there is no memory left for this worker itself; lower TOBI_WORKERS, or raise the limit (ulimit -v, or the "
      "container's).");
}

/// True on a thread that the library has started for itself: an exception could not leave it.
inline constinit thread_local bool is_own_thread = false;

}  // namespace tobi::base
