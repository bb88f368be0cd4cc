// SPDX-License-Identifier: Apache-2.0
// The measurements that have a file of their own. Each returns the exit status.
#pragma once

#include "tools/bench/arguments.hpp"

namespace tobi_bench {

/// Peak stack of the papers' programs, and the address space of the stacks compared with what iso-address would
/// reserve.
int measure_space(const arguments& a);
/// The phases of a steal, for each deque.
int measure_breakdown(const arguments& a);
/// Time in leaves of programs of a few long leaves, by shape.
int measure_ramp(const arguments& a);
/// The balancers of task collections on virtual cores.
int measure_lb_synthetic(const arguments& a);

}  // namespace tobi_bench
