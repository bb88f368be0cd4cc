// SPDX-License-Identifier: Apache-2.0
// What endpoints send to each other: datagrams over sockets of the machine whose names lie in no folder, so nothing is
// left behind by a process that dies.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tobi::emulators::fabric {

/// An endpoint's address.
struct name {
  std::uint64_t magic = 0;
  std::array<std::uint64_t, 2> bits{};
  auto operator<=>(const name&) const = default;
};
inline constexpr std::uint64_t name_magic = 0x6369727473;  // "strict"

/// Where the endpoint of that name receives. Returns how long the address is.
inline socklen_t socket_address(const name& n, sockaddr_un& at) noexcept {
  at.sun_family = AF_UNIX;
  at.sun_path[0] = '\0';
  std::memcpy(at.sun_path + 1, &n, sizeof n);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + sizeof n);
}

enum class verb : std::uint32_t { put, get, atomic, done, refused };
enum class refusal : std::uint32_t { no_key, disabled, other_endpoint, range, access, alignment };

constexpr std::string_view why(refusal r) noexcept {
  switch (r) {
    case refusal::no_key:
      return "the target has no memory region of this key";
    case refusal::disabled:
      return "the target's region is not enabled (fi_mr_enable)";
    case refusal::other_endpoint:
      return "the target's region is bound to another endpoint (FI_MR_ENDPOINT)";
    case refusal::range:
      return "the address is outside of the target's region, as mr_mode counts it (FI_MR_VIRT_ADDR)";
    case refusal::access:
      return "the target's region was not registered for this access";
    case refusal::alignment:
      return "the address of an atomic is not aligned";
  }
  return "";
}

/// One packet; a put's bytes, and a get's in the answer, follow.
struct header {
  verb what = verb::put;
  refusal reason = refusal::no_key;
  name from;
  std::uint64_t operation = 0;  // the initiator's number of it
  std::uint64_t offset = 0;     // in the operation
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  // as mr_mode counts
  std::uint64_t key = 0;
  std::uint64_t packets = 1;  // of the operation
  std::uint64_t data = 0;
  std::uint32_t tells = 0;  // whether DATA go to the target's completion queue
  std::uint32_t datatype = 0;
  std::uint32_t op = 0;
  std::uint32_t padding = 0;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  std::uint64_t result = 0;
};
inline constexpr std::uint64_t packet_bytes = 16u << 10;

}  // namespace tobi::emulators::fabric
