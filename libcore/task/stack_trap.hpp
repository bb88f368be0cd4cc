// SPDX-License-Identifier: Apache-2.0
// TOBI_DEBUG_MIGRATE: the frames of a task that has moved away become a trap. They are filled with poison and lose all
// access, page by page, so the child begins on a page of its own: code that follows a pointer to another task's locals
// faults there.
//
// A page per fork would fill the region at a depth of some thousands. But what has moved away is in its image, and its
// addresses are free to others, as in the uni-address scheme all are (HPDC 2015, section 5): where a child would begin
// in the lower half of the region, it begins at the top again. So every task has half of the region for itself, however
// deep it is nested, and a page that the task before it did not have.
//
// Frames above the running task have no access, in whichever worker it goes on, and neither have its parent's, wherever
// they are. Below it are, after a new beginning, frames of older ones, which have poison alone; in another worker the
// parent's are among those.
#pragma once

#include <cstdint>

namespace tobi::tasks {

class stack_trap {
 public:
  /// Before it there is no trap: nothing is closed, and open() does nothing.
  void start(std::uintptr_t low, std::uintptr_t high) noexcept;

  /// The frames [SP, BASE) have been copied away. Returns where the next task may begin, downwards.
  std::uintptr_t close(std::uintptr_t sp, std::uintptr_t base) noexcept;
  /// A task comes in whose frames end at UP_TO. Those above are another's, also where this worker has never had any.
  void open(std::uintptr_t up_to) noexcept;
  /// Whether ADDRESS, which lies in the region, belongs to tasks that have moved away.
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept {
    return address >= closed_from_ || (address >= parent_from_ && address < parent_to_);
  }

 private:
  std::uintptr_t low_ = 0;
  std::uintptr_t high_ = 0;                   // 0 where there is no trap
  std::uintptr_t closed_from_ = UINTPTR_MAX;  // up to the region's top
  std::uintptr_t parent_from_ = 0;            // of a task that has begun at the top; else empty
  std::uintptr_t parent_to_ = 0;
};

}  // namespace tobi::tasks
