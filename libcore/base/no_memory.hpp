// SPDX-License-Identifier: Apache-2.0
// Memory that a job cannot go on without.
#pragma once

#include <new>

#include "libcore/base/log.hpp"

namespace tobi::base {

/// Ends the job with a sentence.
[[noreturn]] inline void no_memory() {
  fatal(
      "there is no memory left for this worker itself; lower TOBI_WORKERS, or raise the limit (ulimit -v, or the "
      "container's).");
}

/// While one lives, an operator new of this process that finds no memory ends the job with a sentence. The other
/// workers wait for this one, so there is nothing that the program could do about it, and an exception would meet
/// functions and threads of the library that it cannot pass. What the program allocates while tasks run is its own
/// affair.
class memory_or_end {
 public:
  memory_or_end() noexcept : before_(std::set_new_handler(no_memory)) {}
  ~memory_or_end() { std::set_new_handler(before_); }
  memory_or_end(const memory_or_end&) = delete;
  memory_or_end& operator=(const memory_or_end&) = delete;

 private:
  std::new_handler before_;
};

}  // namespace tobi::base
