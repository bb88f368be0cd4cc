// SPDX-License-Identifier: Apache-2.0
// What a child of tobi-info does. Each says its findings by TELL, as soon as it has them.
#pragma once

#include <functional>
#include <string_view>

#include "tools/info/gather.hpp"
#include "transports/registry.hpp"

namespace tobi_info {

using teller = std::function<void(const json&)>;

/// The ways to start a job.
void list_ways(const teller& tell);
/// Whether the transport can serve, what it can do, which devices there are. Before each step that may crash, its words
/// are told as `step`.
void look(const tobi::transports::registry_entry& entry, const job_here& job, const teller& tell);
/// Whether gets, puts and atomics complete although their target sleeps. Forks a second process; both return from here.
void measure(const tobi::transports::registry_entry& entry, const job_here& job, const teller& tell);

/// Whether a child that opens this transport is taken for the process that a launcher has started, and that one, when
/// the child has ended, for ended too.
[[nodiscard]] bool opens_as_the_launchers(std::string_view transport);

/// The whole life of a child: WHAT is "ways", "look NAME" or "measure NAME".
int run_probe(const std::string& what);

}  // namespace tobi_info
