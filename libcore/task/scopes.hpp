// SPDX-License-Identifier: Apache-2.0
// Which finish governs an async: the innermost one around it, as in X10, also through plain spawns.
//
// A finish, and each async, leaves a marker among its locals; the markers of what lies in this worker's region form a
// list, innermost first. That is kept where scopes open and close and costs a fork nothing. What moves takes one word
// with it, the finish that holds at its saved stack pointer: the owner writes it where it shows a frame or evacuates a
// stack. Where a moved task opens or closes further scopes its own markers have come along with its frames; those of
// its parents have not, and are not followed.
#pragma once

#include <cstdint>

#include "tobi/finish.hpp"

namespace tobi::tasks {

class scopes {
 public:
  /// A task, or a part of one, has been brought here; FINISH holds where it goes on.
  void entered(std::uint64_t finish) noexcept {
    innermost_ = nullptr;
    outside_ = finish;
  }
  /// The innermost scope that was opened in the frames [SP, BASE), or null.
  [[nodiscard]] detail::scope_marker* innermost_in(std::uintptr_t sp, std::uintptr_t base) const noexcept {
    detail::scope_marker* m = innermost_;
    while (m != nullptr && reinterpret_cast<std::uintptr_t>(m) < sp) m = m->up;
    return reinterpret_cast<std::uintptr_t>(m) < base ? m : nullptr;
  }
  /// Several tasks that lie on each other have been brought here, whose frames end at BASE. INNERMOST is what
  /// innermost_in() has returned, and is followed up to BASE.
  void entered_together(detail::scope_marker* innermost, std::uintptr_t base) noexcept {
    innermost_ = innermost;
    detail::scope_marker* last = innermost;
    while (last->up != nullptr && reinterpret_cast<std::uintptr_t>(last->up) < base) last = last->up;
    last->up = nullptr;
    outside_ = last->outer;
  }
  /// The finish that holds for the frames saved at SP, which lie in this region.
  [[nodiscard]] std::uint64_t at(std::uintptr_t sp) const noexcept {
    const detail::scope_marker* m = innermost_;
    while (m != nullptr && reinterpret_cast<std::uintptr_t>(m) < sp) m = m->up;
    return m != nullptr ? m->finish : outside_;
  }
  [[nodiscard]] std::uint64_t now() const noexcept { return innermost_ != nullptr ? innermost_->finish : outside_; }

  void open(detail::scope_marker& marker, std::uint64_t finish) noexcept {
    marker = {innermost_, finish, now()};
    innermost_ = &marker;
  }
  /// AT_BASE and BASE are those of the running task. Where its parent is elsewhere nothing above its base is ours.
  void close(const detail::scope_marker& marker, bool at_base, std::uintptr_t base) noexcept {
    innermost_ = marker.up;
    if (innermost_ != nullptr && at_base && reinterpret_cast<std::uintptr_t>(innermost_) >= base) innermost_ = nullptr;
    if (innermost_ == nullptr) outside_ = marker.outer;
  }
  /// The frames below SP are gone, without having closed their scopes.
  void forget_below(std::uintptr_t sp) noexcept {
    while (innermost_ != nullptr && reinterpret_cast<std::uintptr_t>(innermost_) < sp) innermost_ = innermost_->up;
  }

 private:
  detail::scope_marker* innermost_ = nullptr;
  std::uint64_t outside_ = 0;  // beyond the last marker that is here
};

}  // namespace tobi::tasks
