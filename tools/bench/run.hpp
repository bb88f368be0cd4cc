// One program, run as often as asked, and what is said about it.
#pragma once

#include "tools/bench/arguments.hpp"

namespace tobi_bench {

/// The exit status: 0, or 1 when an answer was wrong.
int run_app(const arguments& a);

/// frames, fork-cost, space, steal-breakdown. The exit status.
int run_measure(const arguments& a);

/// One measurement of one peer in this process: prints its seconds.
int run_one_peer(const arguments& a);
/// The comparison: forks this program once a measurement, in turn.
int run_peers(const arguments& a);

}  // namespace tobi_bench
