// SPDX-License-Identifier: Apache-2.0
// What a worker's time goes to in global memory: the breakdown of SC'23, figure 9. One clock per worker, which is
// always in one phase; what a phase contains of another one is that one's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "arch/cpu.hpp"
#include "tobi/statistics.hpp"

namespace tobi::pgas {

class phase_clock {
 public:
  static constexpr std::size_t others = global_phases;  // not in global memory; nobody asks for its time

  /// From now on the time is TO's. Returns whose it was.
  std::size_t change(std::size_t to) noexcept {
    const std::uint64_t now = arch::cycles();
    cycles_[now_] += now - since_;
    since_ = now;
    return std::exchange(now_, to);
  }
  [[nodiscard]] std::uint64_t cycles(std::size_t phase) const noexcept { return cycles_[phase]; }
  void clear() noexcept { cycles_ = {}; }

 private:
  std::array<std::uint64_t, global_phases + 1> cycles_{};
  std::size_t now_ = others;
  std::uint64_t since_ = 0;
};

/// As long as it lives the time is WHAT's; nothing without a clock.
class timed {
 public:
  timed(phase_clock* clock, global_phase what) noexcept
      : clock_(clock), before_(clock == nullptr ? 0 : clock->change(static_cast<std::size_t>(what))) {}
  ~timed() {
    if (clock_ != nullptr) clock_->change(before_);
  }
  timed(const timed&) = delete;
  timed& operator=(const timed&) = delete;

 private:
  phase_clock* clock_;
  std::size_t before_;
};

}  // namespace tobi::pgas
