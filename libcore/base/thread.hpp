// SPDX-License-Identifier: Apache-2.0
// A thread of the library's own. Where the system has no more of them the job ends with a sentence.
#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "libcore/base/log.hpp"

namespace tobi::base {

/// A thread that calls RUN with WITH...; FOR_WHAT: "connections are answered by it".
template <class Run, class... With>
[[nodiscard]] std::thread start_thread(std::string_view for_what, Run&& run, With&&... with) {
  try {
    return std::thread(std::forward<Run>(run), std::forward<With>(with)...);
  } catch (const std::system_error& why) {
    fatal("a thread cannot be started (" + why.code().message() + "), and " + std::string(for_what) +
          "; raise the limit of processes (ulimit -u, or pids.max of the container).");
  }
}

}  // namespace tobi::base
