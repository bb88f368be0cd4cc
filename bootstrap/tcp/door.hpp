// SPDX-License-Identifier: Apache-2.0
// How one host of a job lets another one in over TCP, and nobody else. The host that waits puts its door's text into
// the launcher's store: its addresses, its port and a secret. The one that comes sends the first half of the secret and
// gets the second: both know then that the other one has read the same store, also where an address is that of several
// hosts (docker0), or a stranger listens there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/tcp/sockets.hpp"

namespace tobi::bootstrap::tcp {

using half = std::array<std::byte, 8>;  // of the secret

class door {
 public:
  /// Listens on a port of RANGE. Closed, with errno, where that cannot be.
  explicit door(base::port_range range);

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(listener_); }
  [[nodiscard]] int fd() const noexcept { return listener_.fd(); }
  /// What guest() needs on another host.
  [[nodiscard]] std::string text() const;
  /// Takes in what has connected.
  void answer();
  /// The connections that have not said the secret yet: their descriptors.
  [[nodiscard]] std::vector<int> unknown() const;
  /// Reads from FD, one of unknown(). The connection, where it has said the secret and was told the second half: the
  /// door is closed behind it.
  [[nodiscard]] file hear(int fd);

 private:
  struct visitor {
    file connection;
    half said{};
    std::size_t bytes = 0;
  };
  file listener_;
  std::uint64_t ours_;
  std::uint64_t theirs_;
  std::vector<visitor> visitors_;
};

/// The other side: a host that tries another one's door, at all its addresses at the same time.
class guest {
 public:
  /// TEXT is the door's. What cannot be read there is no address.
  explicit guest(const std::string& text);

  /// Begins an attempt at each address at which none is under way.
  void knock();
  /// The attempts: their descriptors, and whether each still waits to be writable.
  struct attempt {
    int fd;
    bool connecting;
  };
  [[nodiscard]] std::vector<attempt> attempts() const;
  /// Something happens at FD. The connection, where it is the right host's.
  [[nodiscard]] file hear(int fd);
  /// Why it did not work the last time, as errno; 0: nothing has failed.
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  struct way {
    std::string address;
    file connection{};
    bool connecting = true;
    half heard{};
    std::size_t bytes = 0;
  };
  std::vector<way> ways_;
  std::uint16_t port_ = 0;
  std::uint64_t ours_ = 0;
  std::uint64_t theirs_ = 0;
  int error_ = 0;
};

}  // namespace tobi::bootstrap::tcp
