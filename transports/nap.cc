// SPDX-License-Identifier: Apache-2.0
#include "transports/nap.hpp"

#include <poll.h>
#include <time.h>

#include <algorithm>

namespace tobi::transports {

namespace {

constexpr timespec span(std::uint64_t ns) noexcept {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

void sleep(std::uint64_t ns) noexcept {
  const timespec most = span(ns);
  nanosleep(&most, nullptr);
}

// Of a fabric that can be slept on and says, twice in a row, that it may not: it waits for what shows at no descriptor,
// like a connection that is being made.
constexpr std::uint64_t restless_ns = 50'000;

}  // namespace

bool nap_on(int fd, std::uint64_t ns) noexcept {
  const timespec most = span(ns);
  pollfd one{fd, POLLIN, 0};
  return ppoll(&one, 1, &most, nullptr) > 0;
}

bool nap_by_the_clock(transport& over, std::uint64_t ns) noexcept {
  if (over.wait_fd() < 0) {
    sleep(ns);
    return false;
  }
  over.progress();
  if (!over.may_sleep()) sleep(std::min(ns, restless_ns));
  return true;
}

}  // namespace tobi::transports
