// SPDX-License-Identifier: Apache-2.0
// How a thread sleeps that waits for somebody else over a transport.
#pragma once

#include <cstdint>

#include "transports/transport.hpp"

namespace tobi::transports {

/// What has ended a sleep: its time, the transport, or a call.
enum class nap_end : std::uint8_t { time, transport, call };

/// Every thread of this process that naps calls LOOKS first; null: nothing. Set while no other thread naps.
void look_at_naps(void (*looks)() noexcept) noexcept;

/// The sleep alone, on the transport's descriptor FD and on CALLS, for a thread that has asked may_sleep() when the
/// transport was its own. -1: there is no such descriptor.
nap_end nap_on(int fd, int calls, std::uint64_t ns) noexcept;
/// True: FD is readable.
inline bool nap_on(int fd, std::uint64_t ns) noexcept { return nap_on(fd, -1, ns) == nap_end::transport; }

/// The sleep where there is no descriptor, or where may_sleep() has said no.
nap_end nap_by_the_clock(transport& over, int calls, std::uint64_t ns) noexcept;

/// Sleeps for NS. Where the transport has a descriptor to sleep on it returns earlier, once progress() would do
/// something: what came may be what the caller waits for, or what another rank waits for. It also returns when CALLS,
/// unless it is -1, is readable. CAME: whether what the caller looks for in its memory is there, asked behind
/// may_sleep(), which may itself have let it in. Belongs to the one thread that uses the transport.
template <class Came>
nap_end nap(transport& over, std::uint64_t ns, int calls, Came came) noexcept {
  const int fd = over.wait_fd();
  if (fd >= 0 && over.may_sleep()) return came() ? nap_end::transport : nap_on(fd, calls, ns);
  return nap_by_the_clock(over, calls, ns);
}
/// The same for NS so short that what was let in can wait until its end.
inline void nap(transport& over, std::uint64_t ns) noexcept {
  nap(over, ns, -1, [] { return false; });
}

}  // namespace tobi::transports
