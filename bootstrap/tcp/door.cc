// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp/door.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <sstream>
#include <utility>

#include "libcore/base/plain_text.hpp"
#include "libcore/base/secret.hpp"

namespace tobi::bootstrap::tcp {

namespace {

constexpr std::size_t visitors_max = 16;
constexpr std::size_t addresses_max = 16;

half bytes_of(std::uint64_t number) { return std::bit_cast<half>(number); }

// False: the other end has closed, or the connection has failed. INTO is filled up to its size.
bool read_more(const file& from, half& into, std::size_t& have) {
  const ssize_t n = recv(from.fd(), into.data() + have, into.size() - have, 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  have += static_cast<std::size_t>(n);
  return n > 0;
}

bool say(const file& to, const half& what) {
  return send(to.fd(), what.data(), what.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(what.size());
}

}  // namespace

door::door(base::port_range range) : listener_(listen_on(range)), ours_(base::secret()), theirs_(base::secret()) {}

std::string door::text() const {
  base::text_out out;
  out << port_of(listener_) << ' ' << theirs_ << ' ' << ours_;
  for (const std::string& address : own_addresses()) out << ' ' << address;
  return out.str();
}

void door::answer() {
  while (file connection = accept_from(listener_)) {
    // A stranger that says nothing must not keep the right one out.
    if (visitors_.size() == visitors_max) visitors_.erase(visitors_.begin());
    visitors_.push_back({std::move(connection)});
  }
}

std::vector<int> door::unknown() const {
  std::vector<int> all;
  for (const visitor& v : visitors_) all.push_back(v.connection.fd());
  return all;
}

file door::hear(int fd) {
  const auto v =
      std::find_if(visitors_.begin(), visitors_.end(), [&](const visitor& one) { return one.connection.fd() == fd; });
  if (v == visitors_.end()) return {};
  const bool talks = read_more(v->connection, v->said, v->bytes);
  if (talks && v->bytes < v->said.size()) return {};
  file found;
  if (talks && v->said == bytes_of(theirs_) && say(v->connection, bytes_of(ours_))) found = std::move(v->connection);
  visitors_.erase(v);
  if (found) {  // by another address it may have come twice
    listener_.reset();
    visitors_.clear();
  }
  return found;
}

guest::guest(const std::string& text) {
  base::text_in in(text);
  in >> port_ >> ours_ >> theirs_;
  for (std::string address; ways_.size() < addresses_max && in >> address;) ways_.push_back({address});
}

void guest::knock() {
  for (way& w : ways_) {
    if (w.connection) continue;
    w.connection = begin_connection(w.address, port_);
    w.connecting = true;
    w.bytes = 0;
    if (!w.connection) error_ = errno;
  }
}

std::vector<guest::attempt> guest::attempts() const {
  std::vector<attempt> all;
  for (const way& w : ways_) {
    if (w.connection) all.push_back({w.connection.fd(), w.connecting});
  }
  return all;
}

file guest::hear(int fd) {
  const auto w = std::find_if(ways_.begin(), ways_.end(), [&](const way& one) { return one.connection.fd() == fd; });
  if (w == ways_.end()) return {};
  if (w->connecting) {
    const int error = connection_error(w->connection);
    if (error == 0 && say(w->connection, bytes_of(ours_))) {
      w->connecting = false;
    } else {
      error_ = error != 0 ? error : errno;
      w->connection.reset();
    }
    return {};
  }
  const bool talks = read_more(w->connection, w->heard, w->bytes);
  if (talks && w->bytes < w->heard.size()) return {};
  if (talks && w->heard == bytes_of(theirs_)) return std::move(w->connection);
  error_ = ECONNREFUSED;  // another one lives here
  w->connection.reset();
  return {};
}

}  // namespace tobi::bootstrap::tcp
