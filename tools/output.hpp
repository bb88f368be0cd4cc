// SPDX-License-Identifier: Apache-2.0
// A tool whose output could not be written has failed: a full disk must not look like a short result.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>

#include "libcore/base/standard_files.hpp"

namespace tobi_tools {

/// From now on exit() looks whether all of standard output was written; otherwise TOOL says so, and the status is 1. To
/// be called first in main: what else is called at exit may still write. Where standard output is closed nobody wants
/// it.
inline void must_be_written(const char* tool) {
  tobi::base::take_standard_numbers();
  if (!tobi::base::can_be_written(STDOUT_FILENO) && std::freopen("/dev/null", "w", stdout) == nullptr) return;
  const auto look = [](int status, void* name) {
    std::cout.flush();
    errno = 0;
    const bool was_lost = std::ferror(stdout) != 0 || !std::cout;
    if (std::fflush(stdout) == 0 && !was_lost) return;
    std::fprintf(stderr, "%s: not all of the output could be written%s%s%s.\n", static_cast<const char*>(name),
                 errno == 0 ? "" : " (", errno == 0 ? "" : std::strerror(errno), errno == 0 ? "" : ")");
    _exit(status == 0 ? 1 : status);
  };
  // fmt throws where a buffer cannot be written. Nobody catches it, so nothing is unwound: the job ends by exit(), too.
  static const std::terminate_handler otherwise = std::get_terminate();
  std::set_terminate([] {
    if (std::ferror(stdout) != 0) std::exit(1);
    otherwise();
  });
  if (on_exit(look, const_cast<char*>(tool)) != 0) std::abort();  // as the first it has room
}

}  // namespace tobi_tools
