// What both kinds of continuation stealing share.
#include "libcore/task/sched_continuation.hpp"

#include "libcore/task/worker.hpp"

namespace tobi::tasks {

void sched_continuation::run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) {
  w_.enter_root(first, argument, argument_bytes);
}

bool sched_continuation::run_something() { return w_.run_ready() || w_.steal_once(); }

void sched_continuation::forked(std::uintptr_t, std::uint64_t*) noexcept { w_.work().forked(); }

// Perhaps another process when suspend_for returns: `w_` is the worker there, and COPY, on the stack, moved along.
void sched_continuation::wait(std::uint64_t where, record& copy) { w_.suspend_for(where, copy); }

}  // namespace tobi::tasks
