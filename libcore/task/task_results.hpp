// SPDX-License-Identifier: Apache-2.0
// What the running task leaves behind that two registers do not hold: a result too large for them, or an exception.
//
// The parent may be shown to thieves at any moment, so what does not travel in registers goes to its frame only when
// the child has returned and the frame is this worker's. Until then it is kept here, and the child returns slowly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcore/deque/deque.hpp"
#include "libcore/task/failures.hpp"
#include "libcore/task/fences.hpp"
#include "libcore/task/joins.hpp"
#include "libcore/task/scheduling.hpp"

namespace tobi::tasks {

class task_results {
 public:
  task_results(failures& failed, joins& completing, const fences& memory) noexcept
      : failures_(failed), joins_(completing), fences_(memory) {}
  void start(deque::deque& work, const scheduling& sched) noexcept {
    deque_ = &work;
    sched_ = &sched;
  }

  // --- the task is about to end --------------------------------------------------------------------------
  /// Where a result of BYTES goes, which belongs OFFSET behind the handle.
  void* slot(std::uint32_t bytes, std::uint32_t offset) noexcept;
  /// In a catch clause: the exception is what it ends with.
  void fail() noexcept;

  // --- it has ended --------------------------------------------------------------------------------------
  /// To the handle of its parent, which is here.
  void give_to(void* handle) noexcept;
  /// To the record at WHERE; 0: nowhere. A and B are what it returned.
  void complete(std::uint64_t where, std::uint64_t a, std::uint64_t b) noexcept;

 private:
  void return_slowly() noexcept;

  failures& failures_;
  joins& joins_;
  const fences& fences_;
  deque::deque* deque_ = nullptr;
  const scheduling* sched_ = nullptr;
  std::uint64_t failure_ = 0;
  std::vector<std::byte> large_;
  std::uint32_t large_bytes_ = 0;
  std::uint32_t large_offset_ = 0;
};

}  // namespace tobi::tasks
