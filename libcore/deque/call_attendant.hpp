// SPDX-License-Identifier: Apache-2.0
// How the attendant (sched/attendant.hpp) of another worker of this host is called: by a thief that wants something,
// and by a worker that has brought something.
#pragma once

#include "libcore/deque/window.hpp"

namespace tobi::deque {

/// Calls the attendant behind WINDOW if it sleeps and may have something to give. Returns whether it did. Release: what
/// the caller has written comes before the call.
bool call_attendant(steal_window& window) noexcept;

/// The caller has put something where the owner of WINDOW finds it, and others do not. Calls the attendant where the
/// owner computes, also one that has just found nothing to give.
void bring_to_attendant(steal_window& window) noexcept;

}  // namespace tobi::deque
