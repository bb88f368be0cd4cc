// SPDX-License-Identifier: Apache-2.0
// What the processes that a launcher started settle before they are one job: which of them is on which node, how many
// workers each one is, that running stacks can move between them, and one stack-protector canary.
#pragma once

#include "bootstrap/cards.hpp"
#include "bootstrap/layout.hpp"

namespace tobi::bootstrap {

/// Collective, over all clients of LAUNCHER. Fatal, with one message for all, where the job cannot be. IN_FORCE is what
/// this client has read, and then what rank 0 has given and offered too.
[[nodiscard]] plan agree(exchange& launcher, const layout& mine, int wanted, int cores, base::settings& in_force);

}  // namespace tobi::bootstrap
