// SPDX-License-Identifier: Apache-2.0
#include "transports/nap.hpp"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <array>

namespace tobi::transports {

namespace {

constexpr timespec span(std::uint64_t ns) noexcept {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

void (*look)() noexcept = nullptr;

// Of a fabric that can be slept on and says, twice in a row, that it may not: it waits for what shows at no descriptor,
// like a connection that is being made.
constexpr std::uint64_t restless_ns = 50'000;

}  // namespace

void look_at_naps(void (*looks)() noexcept) noexcept { look = looks; }

nap_end nap_on(int fd, int calls, std::uint64_t ns) noexcept {
  if (look != nullptr) look();
  const timespec most = span(ns);
  std::array<pollfd, 2> both{{{fd, POLLIN, 0}, {calls, POLLIN, 0}}};  // a negative one is not looked at
  if (ppoll(both.data(), both.size(), &most, nullptr) <= 0) return nap_end::time;
  return both[1].revents != 0 ? nap_end::call : nap_end::transport;
}

nap_end nap_by_the_clock(transport& over, int calls, std::uint64_t ns) noexcept {
  if (over.wait_fd() < 0) return nap_on(-1, calls, ns);
  over.progress();
  if (!over.may_sleep()) nap_on(-1, -1, std::min(ns, restless_ns));
  return nap_end::transport;
}

}  // namespace tobi::transports
