// SPDX-License-Identifier: Apache-2.0
// The same two programs on other runtimes, in this process, with WORKERS threads. Each returns the result and stores
// the seconds of one run; the first run in a process, which starts the threads, is not the one that is timed.
#pragma once

#include <cstdint>

#include "tools/bench/apps/tree.hpp"

namespace tobi_bench::peers {

struct measured {
  std::uint64_t result;
  double seconds;
};

measured openmp_fib(std::uint64_t n, int workers);
measured openmp_uts(const tree& t, int workers);
measured onetbb_fib(std::uint64_t n, int workers);
measured onetbb_uts(const tree& t, int workers);

}  // namespace tobi_bench::peers
