// SPDX-License-Identifier: Apache-2.0
// A run that pauses, because one of its tasks processes a task collection. All workers do that together, outside of
// tasks, and then go on with the run.
//
// A pause is told as the end of a run is (assembly.hpp): a notice whose result is no object but says what to do. Each
// worker sees it when it has no task to run, and leaves its scheduler's loop. What waits stays where it is: awakened
// tasks in their lists, suspended ones in their images, children that have not begun in the deque. The next part of the
// run has an epoch of its own, so nobody takes the notice of one part for that of another: the collective calls of the
// pause lie between them.
//
// An epoch ends once: a pause, and the end of a run while there are collections, take it by a compare-and-swap at
// rank 0, and the second one is a mistake of the program.
#pragma once

#include <cstdint>

#include "libcore/net/location.hpp"

namespace tobi::job {

struct pause {
  std::uint32_t number;  // of the collection
  bool restores;         // else it is processed

  /// As the result of a notice. Objects are aligned, so their offsets are even.
  [[nodiscard]] net::location as_result(int asker) const noexcept {
    return {asker, std::uint64_t{number} << 2 | (restores ? 2u : 0u) | 1u};
  }
  [[nodiscard]] static bool is_one(net::location result) noexcept { return (result.offset() & 1) != 0; }
  [[nodiscard]] static pause from(net::location result) noexcept {
    return {static_cast<std::uint32_t>(result.offset() >> 2), (result.offset() & 2) != 0};
  }
};

}  // namespace tobi::job
