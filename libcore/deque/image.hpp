// SPDX-License-Identifier: Apache-2.0
// A suspended task: its frames, saved in the registered heap of the worker on which it ran. Like a continuation it is
// work, and a worker that has its location can go on with it (ready.hpp).
#pragma once

#include <cstdint>

#include "libcore/deque/waiters.hpp"

namespace tobi::deque {

/// The head of an evacuated stack; the bytes of [sp, sp + bytes) follow it.
struct alignas(16) image {
  std::uint64_t sp;
  std::uint64_t bytes;
  std::uint64_t die_record;   // where the task that ends at the top of these frames completes
  std::uint64_t waiting_for;  // the record, or 0
  std::uint64_t finish;       // the one around the task
  std::uint64_t mark;         // image_mark, and its own location: what this object is, where all objects are searched
  waiter_links before;        // the next task that waits for the same record
};
inline constexpr std::uint64_t image_mark = 0x746f62692d696d67;  // "tobi-img"

/// The low bits of a location are free; lists and records say something there.
inline constexpr std::uint64_t location_tags = 15;

}  // namespace tobi::deque
