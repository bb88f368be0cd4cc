// SPDX-License-Identifier: Apache-2.0
// Processes that no launcher has started meet over TCP: one listens (TOBI_LISTEN), the others connect to it
// (TOBI_CONNECT). It is the hub of a star: what the processes put goes to it with each fence, and all of it comes back.
// So each has the values of all, and the hub reads and writes a message per process and fence: it is for some hundred
// processes at most, and what is beyond has a launcher.
//
// Nothing is encrypted, and the port asks for no secret: the first processes that reach it are in, as with the tools of
// perftest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"

namespace tobi::bootstrap::tcp {

inline constexpr std::uint16_t meeting_port = 18520;  // where TOBI_PORTS says no other

/// What a tool says before its job starts. A process of another purpose is refused.
struct manner {
  std::string purpose;            // "" for programs
  bool listener_is_last = false;  // the process that connects is rank 0, and gives the settings
  int place = 0;  // of those that connect, else in the order in which they come: its rank, if it is free
};
void set_manner(manner m);

/// Whether the environment says that this process meets others over TCP.
[[nodiscard]] bool is_asked() noexcept;
/// Whether it is the one that the others connect to.
[[nodiscard]] bool listens() noexcept;
/// Waits for the others, or connects to the one that listens. Fatal, with what to do, when that cannot be.
[[nodiscard]] std::unique_ptr<exchange> join(const base::settings& in_force);

/// HOST, HOST:PORT, [ADDRESS]:PORT or an address of IPv6. False: it is none of these.
[[nodiscard]] bool parse_meeting_place(const std::string& text, std::string& host, std::uint16_t& port);

}  // namespace tobi::bootstrap::tcp
