// SPDX-License-Identifier: Apache-2.0
// A thread of the library's own. Where the system has no more of them the job ends with a sentence.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "libcore/base/log.hpp"
#include "libcore/base/no_memory.hpp"
#include "libcore/base/refusal.hpp"

namespace tobi::base {

/// A thread that calls RUN with WITH... FOR_WHAT says what it does: "accepts connections".
template <class Run, class... With>
[[nodiscard]] std::thread start_thread(std::string_view for_what, Run&& run, With&&... with) {
  try {
    return std::thread(
        [](auto own_run, auto... own_with) {
          is_own_thread = true;
          std::invoke(std::move(own_run), std::move(own_with)...);
        },
        std::forward<Run>(run), std::forward<With>(with)...);
  } catch (const std::system_error& why) {
    fatal("the thread that " + std::string(for_what) + " cannot be started" +
          refusal(why.code().value(), "clone3",
                  "raise the limit of processes (ulimit -u, or pids.max of the container)"));
  }
}

}  // namespace tobi::base
