// SPDX-License-Identifier: Apache-2.0
// How a head learns that a part of the job is gone which it has not forked, and what it does then.
//
//   another client of its node   a thread in each of them notices it (bootstrap/neighbours.hpp), says so, and asks
//                                the launcher to end the job on the other nodes
//   all clients of another node  the first client of a neighbouring node notices it (bootstrap/ring/ring.hpp), says
//                                so, and ends the other nodes by the launcher and through the ring
//   any                          the launcher tells, or ends the job, as it likes
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace tobi::bootstrap::forked {

/// The head: LAUNCHER ends the rest of the job when its own part of it ends, and says when others die. Null: from now
/// on there is nobody to tell. Owned by the caller.
void set_launcher(exchange* launcher, std::shared_ptr<const plan> spread);
/// The head has finalized: its end is no loss to its neighbours.
void say_finished() noexcept;

/// The head of a job on several nodes: what it is to put in the launcher's store before its first fence there; "" where
/// it opens no door.
[[nodiscard]] std::string offer_door();
/// Behind that fence: watches the next node, and is watched. KEY is the one under which doors are put.
void join_ring(exchange& launcher, std::string_view key);

}  // namespace tobi::bootstrap::forked
