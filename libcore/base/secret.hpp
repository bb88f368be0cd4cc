// SPDX-License-Identifier: Apache-2.0
// What keeps strangers out of a job: numbers that nobody outside of it can guess.
#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "libcore/base/log.hpp"

namespace tobi::base {

/// 64 bits from the kernel, never 0. Fatal where there are none: what can be guessed, such as the time, is no secret.
inline std::uint64_t secret() {
  std::uint64_t bits = 0;
  while (bits == 0) {
    if (getrandom(&bits, sizeof bits, 0) == sizeof bits || errno == EINTR) continue;
    fatal(std::string("the kernel gives no random numbers (") + std::strerror(errno) +
          "), without which others could reach into this job's memory; let the process call getrandom.");
  }
  return bits;
}

}  // namespace tobi::base
