// SPDX-License-Identifier: Apache-2.0
// Where a program's loops begin: --where as the library has it.
#pragma once

#include <tobi/placement.hpp>

#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

inline tobi::affinity affinity_of(begin_at where) {
  switch (where) {
    case begin_at::none:
      return tobi::affinity::none;
    case begin_at::owner:
      return tobi::affinity::owner;
    case begin_at::owner_computes:
      return tobi::affinity::owner_computes;
    case begin_at::automatic:
      break;
  }
  return tobi::affinity::automatic;
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
