// SPDX-License-Identifier: Apache-2.0
// How a thief wakes the attendant (sched/attendant.hpp) of a victim of its own host.
#pragma once

#include "libcore/deque/window.hpp"

namespace tobi::deque {

/// Calls the attendant behind WINDOW if it sleeps and may have something to give. Returns whether it did. Release: what
/// the caller has written comes before the call.
bool call_attendant(steal_window& window) noexcept;

}  // namespace tobi::deque
