// SPDX-License-Identifier: Apache-2.0
// A run that pauses, because one of its tasks wants something that all workers do together, outside of tasks: to
// process a task collection, or to call a function. Then they go on with the run.
//
// A pause is told as the end of a run is (assembly.hpp): a notice whose result is no object but says what to do. Each
// worker sees it when it has no task to run, and leaves its scheduler's loop. What waits stays where it is: awakened
// tasks in their lists, suspended ones in their images, children that have not begun in the deque. The next part of the
// run has an epoch of its own, so nobody takes the notice of one part for that of another: the collective calls of the
// pause lie between them.
//
// An epoch ends once: a pause, and the end of a run that may pause, take it by a compare-and-swap at rank 0. A task
// that comes second waits for the end of the pause, and asks again, in the next epoch: its worker is told of the pause
// too, and awakens it. What all workers call in a pause may be tobi::run. Tasks of the run around it may ask while that
// one's root ends: whichever comes second waits, and a task that comes behind a root is awakened when that run is over.
// The root of the outermost run cannot come second, nor can a task come behind it, in a program that joins its tasks.
// Such mistakes are told of, except where that root ends on another node than rank 0's, in the first run of a job that
// pauses: there they may hang. tests/models/pause.pml checks all of it.
#pragma once

#include <cstdint>

#include "libcore/net/location.hpp"
#include "tobi/future.hpp"

namespace tobi::job {

struct pause {
  enum class kind : std::uint8_t { process, restore, call };

  kind what;
  // The number of a collection, or where a call lies in the heap of the worker that asks: a multiple of 8.
  std::uint64_t of;

  /// As the result of a notice. Objects are aligned, so their offsets are even.
  [[nodiscard]] net::location as_result(int asker) const noexcept {
    const std::uint64_t place = what == kind::call ? of : of << 3;
    return {asker, place | static_cast<std::uint64_t>(what) << 1 | 1};
  }
  [[nodiscard]] static bool is_one(net::location result) noexcept { return (result.offset() & 1) != 0; }
  [[nodiscard]] static pause from(net::location result) noexcept {
    const auto what = static_cast<kind>(result.offset() >> 1 & 3);
    const std::uint64_t place = result.offset() & ~std::uint64_t{7};
    return {what, what == kind::call ? place : place >> 3};
  }
};

/// What a task gets that asks for a pause.
struct pause_asked {
  detail::future_name ends;  // for one join: with the pause
  bool is_own;               // else the pause is another task's, and this one asks again
};

}  // namespace tobi::job
