#include "libcore/task/scheduler.hpp"

#include "libcore/task/sched_child_full.hpp"
#include "libcore/task/sched_child_rtc.hpp"
#include "libcore/task/sched_continuation.hpp"

namespace tobi::tasks {

std::unique_ptr<scheduler> make_scheduler(base::sched_kind kind, worker& w) {
  switch (kind) {
    case base::sched_kind::continuation_greedy:
      return std::make_unique<sched_greedy>(w);
    case base::sched_kind::continuation_stalling:
      return std::make_unique<sched_stalling>(w);
    case base::sched_kind::child_full:
      return std::make_unique<sched_child_full>(w);
    case base::sched_kind::child_rtc:
      return std::make_unique<sched_child_rtc>(w);
  }
  return nullptr;
}

}  // namespace tobi::tasks
