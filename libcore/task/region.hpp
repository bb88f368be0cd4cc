// SPDX-License-Identifier: Apache-2.0
// The uni-address region: the memory in which the frames of tasks lie that may move, at the same addresses in every
// worker. Frames leave it for the registered heap (evacuate) and come in from there (restore), or from another worker's
// region, which is the deque's business.
//
// A worker that brings frames in owns no live frame there, and no thief still copies what was there:
// sched/continuation.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/context.hpp"
#include "libcore/deque/image.hpp"
#include "libcore/deque/incoming_image.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/task/scopes.hpp"
#include "libcore/task/shared_objects.hpp"
#include "libcore/task/stack_trap.hpp"
#include "tobi/statistics.hpp"

namespace tobi::tasks {

class region {
 public:
  region(shared_objects& objects, scopes& governing, statistics& counts) noexcept
      : objects_(objects), scopes_(governing), counts_(counts) {}
  /// TRAPS: TOBI_DEBUG_MIGRATE, see stack_trap.
  void start(net::fabric& net, std::byte* low, std::byte* high, deque::image_room& images, bool traps) noexcept;

  [[nodiscard]] std::uintptr_t low() const noexcept { return low_; }
  [[nodiscard]] std::uintptr_t high() const noexcept { return high_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return high_ - low_; }
  /// Where a thief may have an image brought along with its claim.
  [[nodiscard]] deque::incoming_image& incoming() noexcept { return incoming_; }

  /// The root's argument, in the root's own frames, so that it moves with the root. Returns where it lies.
  std::uintptr_t place_root(const void* argument, std::size_t argument_bytes) noexcept;
  /// The frames [SP, BASE) of a task that completes to DIE_RECORD and waits for WAITING_FOR, or 0, become an image of
  /// this worker's heap. Returns its location.
  std::uint64_t evacuate(std::uintptr_t sp, std::uintptr_t base, std::uint64_t die_record, std::uint64_t waiting_for);
  /// The head of the image at WHERE, which is this worker's alone.
  [[nodiscard]] deque::image head(net::location where) { return incoming_.head(where); }
  /// Then its frames, to where they were; the image is freed. Returns their base.
  std::uintptr_t restore(net::location where, const deque::image& head);

  /// The frames that begin at BASE have come without those of the parent.
  void cut_from_parent(std::uintptr_t base) const noexcept {
    // The root never returns, and has its argument where others have a return address.
    if (base != high_) arch::cut_from_parent(base);
  }
  /// FRAME, of a task whose frames begin at BASE, goes on before its child has ended: where it joins that.
  static void tell_parent(const arch::saved_frame& frame, std::uintptr_t base) noexcept;

  /// Where it traps: the frames [SP, BASE) are closed. Returns where the next task may begin.
  std::uintptr_t close(std::uintptr_t sp, std::uintptr_t base) noexcept { return trap_.close(sp, base); }
  [[nodiscard]] bool trapped(std::uintptr_t address) const noexcept { return trap_.holds(address); }
  /// Bytes of it that tasks have touched.
  [[nodiscard]] std::uint64_t peak() const noexcept;

 private:
  shared_objects& objects_;
  scopes& scopes_;
  statistics& counts_;
  net::fabric* net_ = nullptr;
  std::uintptr_t low_ = 0;
  std::uintptr_t high_ = 0;
  deque::incoming_image incoming_;
  stack_trap trap_;
};

}  // namespace tobi::tasks
