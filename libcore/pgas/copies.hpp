// SPDX-License-Identifier: Apache-2.0
// Gets and puts, as the program sees them: they begin and end like a checkout of the range, read or written as a whole,
// so a program may use either in the same place. One that is under way is held like a checkout: the memory that it
// fills or reads may be of the task's stack, which must not move.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libcore/pgas/memory.hpp"

namespace tobi::pgas {

class memory::copies {
 public:
  explicit copies(memory& of) noexcept : m_(of) {}

  /// Copies BYTES at AT to LOCAL (HOW is access::get), or from there (access::put). WAIT false: LOCAL stays the
  /// runtime's until land(), and the task neither forks nor joins before. PLACE in the program asks for it.
  void begin(std::uintptr_t at, std::size_t bytes, void* local, access how, bool wait, const void* place);
  /// Waits for what begin() was given these.
  void land(std::uintptr_t at, std::size_t bytes, access how);

 private:
  void check(std::uintptr_t at, std::size_t bytes, access how) const;

  memory& m_;
};

}  // namespace tobi::pgas
