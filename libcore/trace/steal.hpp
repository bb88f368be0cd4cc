// SPDX-License-Identifier: Apache-2.0
// What a steal brings home and how it ended: a deque fills it in, the scheduler counts it, the tracer records it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "arch/cpu.hpp"
#include "tobi/statistics.hpp"

namespace tobi::deque {
class incoming_image;
}

namespace tobi::trace {

/// A continuation that a thief has brought home: its frames lie at [sp, base) in the thief's own region.
struct stolen {
  std::uintptr_t sp = 0;
  std::uintptr_t base = 0;
  int victim = -1;
  bool insists = false;                              // in: the thief has found nothing for long, and calls at once
  bool no_parts = false;                             // in: nothing is to be taken where of_part holds
  bool of_part = false;                              // the victim ran a loop's part that has its data there
  std::uint64_t trips_before = 0;                    // round trips made when the victim had been called; 0: it was not
  std::uint64_t ticket = 0;                          // of the victim's global memory: see tasks::coherence
  std::uint64_t list = 0;                            // steal_result::context
  deque::incoming_image* image = nullptr;            // the thief's: where the list's first image may be brought at once
  std::array<std::uint64_t, steal_phases> cycles{};  // steal_result::taken: by phase, as far as the deque knows

  /// The cycles since MARK are PHASE's; returns the next mark.
  std::uint64_t spent(steal_phase phase, std::uint64_t mark) noexcept {
    const std::uint64_t now = arch::cycles();
    cycles[static_cast<std::size_t>(phase)] += now - mark;
    return now;
  }
};

/// context: not a continuation but a list of suspended tasks that can run (ready.hpp); it is the thief's now.
enum class steal_result : std::uint8_t { taken, context, empty, lost_race };

}  // namespace tobi::trace
