// SPDX-License-Identifier: Apache-2.0
// How a thread sleeps that waits for somebody else over a transport.
#pragma once

#include <cstdint>

#include "transports/transport.hpp"

namespace tobi::transports {

/// The sleep alone, on OVER's descriptor FD, for a thread that has asked may_sleep() when it was the transport's.
bool nap_on(int fd, std::uint64_t ns) noexcept;

/// The sleep where there is no descriptor, or where may_sleep() has said no.
bool nap_by_the_clock(transport& over, std::uint64_t ns) noexcept;

/// Sleeps for NS. Where the transport has a descriptor to sleep on it returns earlier, once progress() would do
/// something, and then true: what came may be what the caller waits for, or what another rank waits for. CAME: whether
/// what the caller looks for in its memory is there, asked behind may_sleep(), which may itself have let it in.
/// Belongs to the one thread that uses the transport.
template <class Came>
bool nap(transport& over, std::uint64_t ns, Came came) noexcept {
  const int fd = over.wait_fd();
  if (fd >= 0 && over.may_sleep()) return came() || nap_on(fd, ns);
  return nap_by_the_clock(over, ns);
}
/// The same for NS so short that what was let in can wait until its end.
inline bool nap(transport& over, std::uint64_t ns) noexcept {
  return nap(over, ns, [] { return false; });
}

}  // namespace tobi::transports
