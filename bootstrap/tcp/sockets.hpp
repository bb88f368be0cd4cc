// SPDX-License-Identifier: Apache-2.0
// TCP between the hosts of a job, for what is not the fabric's: no socket here waits, and none is inherited by another
// program.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/settings.hpp"

namespace tobi::bootstrap::tcp {

/// A file descriptor that is closed with its owner; -1: none.
class file {
 public:
  file() = default;
  explicit file(int fd) noexcept : fd_(fd) {}
  ~file() { reset(); }
  file(file&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  file& operator=(file&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset() noexcept {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// Listens on a free port of RANGE, for all addresses of this host, of IPv6 too where there is any. None, with errno,
/// where no port is free.
[[nodiscard]] file listen_on(base::port_range range);
[[nodiscard]] std::uint16_t port_of(const file& listener);
/// The next connection that another process has made; none where there is none.
[[nodiscard]] file accept_from(const file& listener);

/// This host's addresses as numbers, the loopback's last. Others may have the same one (docker0): what is reached there
/// must prove that it is the right one.
[[nodiscard]] std::vector<std::string> own_addresses();
/// Begins to connect to ADDRESS, as own_addresses() writes it. Writable when it has ended, as connection_error() says.
[[nodiscard]] file begin_connection(const std::string& address, std::uint16_t port);
/// 0, or why the connection could not be made, as errno.
[[nodiscard]] int connection_error(const file& connection);

/// The kernel asks the other end of CONNECTION from time to time whether it is there, and the connection fails when it
/// has been silent for SECONDS. No thread wakes up for it.
void keep_alive(const file& connection, int seconds);

}  // namespace tobi::bootstrap::tcp
