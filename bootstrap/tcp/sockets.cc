// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp/sockets.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tobi::bootstrap::tcp {

namespace {

// An address of either family, as the calls of the kernel take it.
struct endpoint {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  static endpoint of(const in6_addr& address, std::uint16_t port) {
    endpoint e;
    sockaddr_in6 a{};
    a.sin6_family = AF_INET6;
    a.sin6_addr = address;
    a.sin6_port = htons(port);
    std::memcpy(&e.bytes, &a, e.size = sizeof a);
    return e;
  }
  static endpoint of(const in_addr& address, std::uint16_t port) {
    endpoint e;
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr = address;
    a.sin_port = htons(port);
    std::memcpy(&e.bytes, &a, e.size = sizeof a);
    return e;
  }
};

file open_socket(int family) { return file(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

void set(const file& of, int level, int option, int value) { setsockopt(of.fd(), level, option, &value, sizeof value); }

bool listens(const file& on, const endpoint& at) {
  constexpr int waiting = 8;
  return bind(on.fd(), at.address(), at.size) == 0 && listen(on.fd(), waiting) == 0;
}

}  // namespace

file listen_on(base::port_range range) {
  file six = open_socket(AF_INET6);
  const bool both = static_cast<bool>(six);
  file listener = both ? std::move(six) : open_socket(AF_INET);
  if (!listener) return {};
  if (both) set(listener, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  set(listener, SOL_SOCKET, SO_REUSEADDR, 1);  // a port whose last connections are not forgotten yet is free
  for (int port = range.low; port <= range.high; ++port) {
    const auto p = static_cast<std::uint16_t>(port);
    const endpoint any = both ? endpoint::of(in6addr_any, p) : endpoint::of(in_addr{INADDR_ANY}, p);
    if (listens(listener, any)) return listener;
    if (errno != EADDRINUSE && errno != EACCES) break;
  }
  return {};
}

std::uint16_t port_of(const file& listener) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&at), &size) != 0) return 0;
  if (at.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&at)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&at)->sin_port);
}

file accept_from(const file& listener) {
  return file(accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

std::vector<std::string> own_addresses() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  std::vector<std::string> found;
  std::vector<std::string> loopback;
  for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (i->ifa_addr->sa_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr, text, sizeof text);
    } else if (i->ifa_addr->sa_family == AF_INET6) {
      const in6_addr& a = reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr;
      // One of a link means nothing without the interface's number, which is another host's own.
      if (!IN6_IS_ADDR_LINKLOCAL(&a)) inet_ntop(AF_INET6, &a, text, sizeof text);
    }
    if (*text != '\0') ((i->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : found).emplace_back(text);
  }
  freeifaddrs(all);
  found.insert(found.end(), loopback.begin(), loopback.end());
  return found;
}

file begin_connection(const std::string& address, std::uint16_t port) {
  in_addr four{};
  in6_addr six{};
  endpoint to;
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) {
    to = endpoint::of(four, port);
  } else if (inet_pton(AF_INET6, address.c_str(), &six) == 1) {
    to = endpoint::of(six, port);
  } else {
    errno = EINVAL;
    return {};
  }
  file connection = open_socket(to.bytes.ss_family);
  if (!connection) return {};
  if (connect(connection.fd(), to.address(), to.size) != 0 && errno != EINPROGRESS) return {};
  return connection;
}

int connection_error(const file& connection) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(connection.fd(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// What is never sent needs no answer, so the questions are the kernel's: the first after a quarter of the time, then
// every eighth. What is sent and not acknowledged is bounded by the second limit.
void keep_alive(const file& connection, int seconds) {
  const int idle = std::max(1, seconds / 4);
  const int between = std::max(1, seconds / 8);
  set(connection, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(connection, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  set(connection, IPPROTO_TCP, TCP_KEEPINTVL, between);
  set(connection, IPPROTO_TCP, TCP_KEEPCNT, std::max(1, (seconds - idle) / between));
  set(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, seconds * 1000);
  set(connection, IPPROTO_TCP, TCP_NODELAY, 1);
}

}  // namespace tobi::bootstrap::tcp
