// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/task_thread.hpp"

#include <string>

#include "libcore/base/log.hpp"

namespace tobi::tasks {

void task_thread::must_run_tasks_here(const char* what) const noexcept {
  if (!inside_) {
    base::fatal(std::string(what) +
                    " was called outside of tobi::run: make a tobi::runtime in main, and spawn, wait and call parallel "
                    "algorithms in the function that is given to tobi::run.",
                base::exit_usage);
  }
  if (exceptions_ != __cxxabiv1::__cxa_get_globals()) {
    base::fatal(
        std::string(what) +
            " was called by a thread that the program has made: tasks run on one thread of each worker, and only "
            "that one may spawn and wait.",
        base::exit_usage);
  }
}

}  // namespace tobi::tasks
