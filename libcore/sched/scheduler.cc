// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/scheduler.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/sched/child_full.hpp"
#include "libcore/sched/child_rtc.hpp"
#include "libcore/sched/continuation.hpp"
#include "libcore/sched/idler.hpp"
#include "libcore/sched/measuring.hpp"
#include "libcore/sched/presence.hpp"

namespace tobi::sched {

void scheduler::run(void (*first)(void*), const void* argument, std::size_t argument_bytes) {
  if (first != nullptr) {
    s_.work->is_root(true);
    run_root(first, argument, argument_bytes);
    s_.work->is_root(false);
  }
  unsigned attempts = 0;
  std::uint64_t idle_since = 0;
  while (!s_.idler.run_is_over()) {
    if (run_something()) {
      attempts = 0;
      continue;
    }
    if (attempts == 0) idle_since = arch::now_ns();
    if (s_.idler.idle(attempts)) s_.idler.nothing_runs_since(idle_since);
  }
}

void scheduler::show_awakened() noexcept { s_.presence.show_ready(); }

namespace {
// A place, and no object: the runtime may be a global variable, made before those of this library and ended after them.
template <class... Any>
struct place_for {
  template <class One>
  scheduler& make(services& shared) {
    return *new (bytes) One(shared);
  }
  alignas(Any...) std::byte bytes[std::max({sizeof(Any)...})];
};
place_for<sched_greedy, sched_stalling, sched_child_full, sched_child_rtc, sched_adws, sched_measuring> place;
}  // namespace

scheduler& make_scheduler(base::sched_kind kind, bool measures, services& shared) {
  if (measures) return place.make<sched_measuring>(shared);
  switch (kind) {
    case base::sched_kind::continuation_greedy:
      return place.make<sched_greedy>(shared);
    case base::sched_kind::continuation_stalling:
      return place.make<sched_stalling>(shared);
    case base::sched_kind::child_full:
      return place.make<sched_child_full>(shared);
    case base::sched_kind::child_rtc:
      return place.make<sched_child_rtc>(shared);
    case base::sched_kind::adws:
      return place.make<sched_adws>(shared);
  }
  base::fatal("a scheduler that does not exist was chosen.");
}

}  // namespace tobi::sched
