// SPDX-License-Identifier: Apache-2.0
// What workers do together outside of tasks may fail on some of them: then all throw the same.
#pragma once

#include <algorithm>
#include <cstdint>

#include "libcore/job/assembly.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/sched/worker.hpp"
#include "libcore/task/failures.hpp"

namespace tobi::job {

/// Collective. OWN: where this worker's exception was kept (failures::keep), or 0. Throws that of the lowest rank that
/// has one, as task_error, and frees this worker's.
inline void throw_first_failure(std::uint64_t own, net::fabric& net, assembly& together) {
  // A rank without a failure says more than any location.
  constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t first = own == 0 ? none : own;
  together.combine(&first, sizeof first, [](void* into, const void* from) {
    auto& least = *static_cast<std::uint64_t*>(into);
    least = std::min(least, *static_cast<const std::uint64_t*>(from));
  });
  if (first == none) return;
  tasks::failure what;
  net.get(net::location{first}, &what, sizeof what);
  together.barrier();  // before the object goes
  if (own != 0) sched::this_worker().free_object(net::location{own});
  tasks::throw_task_error(what);
}

}  // namespace tobi::job
