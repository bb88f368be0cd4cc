// SPDX-License-Identifier: Apache-2.0
// One program, run as often as asked, and what is said about it.
#pragma once

#include <nlohmann/json.hpp>
#include <tobi/statistics.hpp>

#include "tools/bench/arguments.hpp"

namespace tobi_bench {

/// The exit status: 0, or 1 when an answer was wrong.
int run_program(const arguments& a);
/// What the runtime counted, as it goes to the output.
nlohmann::ordered_json stats_of(const tobi::statistics& s);
/// The same of global memory; null where there was none. Times are those of all workers, of WORKER_SECONDS together,
/// with TOBI_STATS=1 only.
nlohmann::ordered_json global_of(const tobi::global_statistics& g, double worker_seconds);

/// frames, fork-cost, space, steal-breakdown, ramp. The exit status.
int run_measure(const arguments& a);

/// One measurement of one peer in this process: prints its seconds.
int run_one_peer(const arguments& a);
/// The comparison: forks this program once a measurement, in turn.
int run_peers(const arguments& a);

}  // namespace tobi_bench
