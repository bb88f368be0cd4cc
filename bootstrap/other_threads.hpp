// SPDX-License-Identifier: Apache-2.0
// Stops the other threads of this process for a moment, each in a signal handler: all that a thread has in registers is
// then on its stack. For AArch64, where the stack protector's canary is one word for all threads.
#pragma once

#include <cstdint>
#include <vector>

namespace tobi::bootstrap {

struct stack_range {
  std::uintptr_t* low;
  std::uintptr_t* high;
};

/// The signal that stops a thread; a thread of the library that blocks signals leaves this one open.
[[nodiscard]] int stop_signal() noexcept;

class other_threads {
 public:
  /// Stops them, and adds the live part of each one's stack to STACKS. Fatal where a thread does not stop.
  explicit other_threads(std::vector<stack_range>& stacks);
  ~other_threads();
  other_threads(const other_threads&) = delete;
  other_threads& operator=(const other_threads&) = delete;
};

}  // namespace tobi::bootstrap
