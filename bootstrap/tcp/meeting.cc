// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp/meeting.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "bootstrap/tcp/messages.hpp"
#include "bootstrap/tcp/sockets.hpp"
#include "libcore/base/leave.hpp"
#include "libcore/base/log.hpp"

namespace tobi::bootstrap::tcp {

namespace {

bool is_given(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

manner& chosen_manner() {
  static manner m;
  return m;
}

// The process at the other end.
struct peer {
  file connection;
  std::string in{};  // what has come and has not been taken
  std::string host{};
  std::size_t place = 0;  // where it wants to be

  // False: it has closed, or the connection has failed.
  bool receive(std::size_t enough = ~std::size_t{0}) {
    std::array<char, 65536> part;
    while (in.size() <= enough) {
      const ssize_t n = recv(connection.fd(), part.data(), part.size(), 0);
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      if (n == 0) return false;
      in.append(part.data(), static_cast<std::size_t>(n));
    }
    return true;
  }
  [[nodiscard]] bool has_message() const { return look_at(in) == reading::whole; }
  // False: it has closed.
  bool say(kind what, std::span<const std::uint64_t> words, std::string_view bytes) const {
    const std::string all = to_bytes(what, words, bytes);
    for (std::string_view rest = all; !rest.empty();) {
      const ssize_t n = send(connection.fd(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n >= 0) {
        rest.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN) {
        pollfd writable{connection.fd(), POLLOUT, 0};
        (void)poll(&writable, 1, -1);
      } else if (errno != EINTR) {
        return false;
      }
    }
    return true;
  }
};

class star final : public exchange {
 public:
  // PEERS: of the hub, whose rank is RANK, all others in their order; of another process the hub alone.
  star(int rank, int size, bool is_hub, std::vector<peer> peers)
      : rank_(rank), size_(size), is_hub_(is_hub), peers_(std::move(peers)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "tcp"; }
  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }

  void put(std::string_view key, std::span<const std::byte> value) override {
    add_value(news_, rank_, key, {reinterpret_cast<const char*>(value.data()), value.size()});
  }

  [[nodiscard]] std::vector<std::byte> get(int rank, std::string_view key) override {
    const auto found = known_.find({rank, std::string(key)});
    if (found != known_.end()) return found->second;
    base::fatal("process " + std::to_string(rank) + " has put nothing under the key " + std::string(key) + ".");
  }

  void fence() override { least({}); }

  void least(std::span<std::uint64_t> words) override {
    std::string all = std::exchange(news_, {});
    if (is_hub_) {
      for (const message& m : from_all()) {
        for (std::size_t w = 0; w < words.size() && w < m.words.size(); ++w) words[w] = std::min(words[w], m.words[w]);
        all += m.bytes;
      }
      for (peer& p : peers_) {
        if (!p.say(kind::fence, words, all)) lose(p);
      }
    } else {
      if (!peers_.front().say(kind::fence, words, all)) lose(peers_.front());
      message m = std::move(from_all().front());
      std::copy_n(m.words.begin(), std::min(words.size(), m.words.size()), words.begin());
      all = std::move(m.bytes);
    }
    learn(all);
  }

  [[noreturn]] void abort(int exit_status) noexcept override {
    say_abort(exit_status);
    base::leave(exit_status);
  }

  void finalize() override { peers_.clear(); }

  void watch(loss_handler handler) override { on_loss_ = handler; }

 private:
  void learn(std::string_view all) {
    const bool good = read_values(all, size_, [this](int rank, std::string_view key, std::string_view value) {
      const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
      known_[{rank, std::string(key)}].assign(bytes, bytes + value.size());
    });
    if (!good) base::fatal("what the processes of this job have told each other over TCP is damaged; the job ends.");
  }

  // The next message of each peer. Keeps the fabric moving meanwhile.
  std::vector<message> from_all() {
    const timespec moment = between_moves();
    for (;;) {
      if (move_) move_();
      std::vector<pollfd> waits;
      for (const peer& p : peers_) {
        const reading what = look_at(p.in);
        if (what == reading::foreign) refuse(p);
        if (what == reading::part) waits.push_back({p.connection.fd(), POLLIN, 0});
      }
      if (waits.empty()) break;
      (void)ppoll(waits.data(), waits.size(), move_ ? &moment : nullptr, nullptr);
      for (peer& p : peers_) {
        // What it has said before it closed counts.
        if (!p.has_message() && !p.receive() && look_at(p.in) == reading::part) lose(p);
      }
    }
    std::vector<message> all;
    for (peer& p : peers_) {
      all.push_back(take_from(p.in));
      if (all.back().what == kind::abort) end_with(static_cast<int>(all.back().words.front()));
      if (all.back().what != kind::fence) refuse(p);
    }
    return all;
  }

  // Once the workers are forked the ring and the neighbours know more of it than this connection.
  void give_those_who_watch_time() const {
    if (on_loss_ == nullptr) return;
    const timespec moment{3, 0};
    nanosleep(&moment, nullptr);
  }
  [[noreturn]] void lose(const peer& p) {
    give_those_who_watch_time();
    base::fatal("the process on " + p.host + " is gone: its connection is closed.");
  }
  [[noreturn]] static void refuse(const peer& p) {
    base::fatal("what the process on " + p.host +
                " says over TCP is no message of this version of Tobiuo; the job ends.");
  }
  [[noreturn]] void end_with(int status) {
    if (is_hub_) say_abort(status);
    give_those_who_watch_time();
    base::leave(status);
  }
  void say_abort(int status) noexcept {
    const std::uint64_t word = static_cast<std::uint64_t>(status);
    const std::string all = to_bytes(kind::abort, {&word, 1}, "");
    for (const peer& p : peers_) (void)send(p.connection.fd(), all.data(), all.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  int rank_;
  int size_;
  bool is_hub_;
  std::vector<peer> peers_;
  std::string news_;  // put since the last fence
  std::map<std::pair<int, std::string>, std::vector<std::byte>> known_;
  loss_handler on_loss_ = nullptr;
};

// --- the one that listens ---

// Reads what a newcomer says first. True: it is one of ours, and it is in.
bool admits(peer& p) {
  const message m = take_from(p.in);
  const std::size_t end = m.bytes.find('\n');
  if (m.what != kind::hello || end == std::string::npos) return false;
  p.host = m.bytes.substr(0, end);
  const std::size_t end_of_purpose = m.bytes.find('\n', end + 1);
  const std::string purpose = m.bytes.substr(end + 1, end_of_purpose - end - 1);
  if (end_of_purpose != std::string::npos) {
    const char* const digits = m.bytes.data() + end_of_purpose + 1;
    (void)std::from_chars(digits, m.bytes.data() + m.bytes.size(), p.place);
  }
  if (purpose == chosen_manner().purpose) return true;
  (void)p.say(kind::refused, {}, chosen_manner().purpose);
  base::log(base::log_level::warn, "a process on " + p.host + " came for another purpose (" +
                                       (purpose.empty() ? "a program" : purpose) + ") and was refused.");
  return false;
}

// Those that want a place get it, the first of each; the others have what is left, in the order in which they came.
// What a process wants may be any number.
void put_in_places(std::vector<peer>& in) {
  std::vector<const peer*> who(in.size());
  for (const peer& p : in) {
    if (p.place != 0 && p.place <= who.size() && who[p.place - 1] == nullptr) who[p.place - 1] = &p;
  }
  for (const peer& p : in) {
    if (std::find(who.begin(), who.end(), &p) == who.end()) *std::find(who.begin(), who.end(), nullptr) = &p;
  }
  std::vector<peer> all;
  for (const peer* const p : who) all.push_back(std::move(in[static_cast<std::size_t>(p - in.data())]));
  in = std::move(all);
}

std::unique_ptr<exchange> listen_for(int size, base::port_range ports) {
  if (ports.low == 0) ports = {meeting_port, meeting_port};
  file listener = listen_on(ports);
  if (!listener) {
    base::fatal("TCP port " + std::to_string(ports.low) + (ports.high > ports.low ? " and those behind it" : "") +
                    " cannot be listened on (" + std::strerror(errno) + "); TOBI_PORTS chooses another.",
                base::exit_usage);
  }
  const auto missing = static_cast<std::size_t>(size) - 1;
  base::log(base::log_level::info, "this process waits on TCP port " + std::to_string(port_of(listener)) + " for " +
                                       std::to_string(missing) + " more.");
  constexpr std::size_t unknown_max = 64;
  std::vector<peer> in;
  std::vector<peer> unknown;
  while (in.size() < missing) {
    std::vector<pollfd> waits{{listener.fd(), POLLIN, 0}};
    for (const peer& p : unknown) waits.push_back({p.connection.fd(), POLLIN, 0});
    (void)poll(waits.data(), waits.size(), -1);
    while (file one = accept_from(listener)) {
      if (unknown.size() == unknown_max) unknown.erase(unknown.begin());
      unknown.push_back({std::move(one)});
    }
    for (std::size_t i = unknown.size(); i-- > 0;) {
      peer& p = unknown[i];
      const bool talks = p.receive(of_a_newcomer.bytes + 64);
      const reading what = look_at(p.in, of_a_newcomer);
      if (what == reading::whole && in.size() < missing && admits(p)) in.push_back(std::move(p));
      if (what != reading::part || !talks) unknown.erase(unknown.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  put_in_places(in);
  const bool last = chosen_manner().listener_is_last;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint64_t words[] = {i + (last ? 0 : 1), static_cast<std::uint64_t>(size)};
    (void)in[i].say(kind::welcome, words, base::host_name());
  }
  return std::make_unique<star>(last ? size - 1 : 0, size, true, std::move(in));
}

// --- those that connect ---

// The addresses of HOST, as numbers. Fatal where there is no such host.
std::vector<std::string> addresses_of(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* all = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &wanted, &all); error != 0) {
    base::fatal("TOBI_CONNECT: the host " + host + " is not known (" + gai_strerror(error) + ").", base::exit_usage);
  }
  std::vector<std::string> found;
  for (const addrinfo* a = all; a != nullptr; a = a->ai_next) {
    char text[NI_MAXHOST] = "";
    if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      found.emplace_back(text);
  }
  freeaddrinfo(all);
  return found;
}

// None, with errno, where it has not worked within some seconds.
file connected_to(const std::string& address, std::uint16_t port) {
  file connection = begin_connection(address, port);
  if (!connection) return {};
  constexpr int patience_ms = 5000;
  pollfd writable{connection.fd(), POLLOUT, 0};
  if (poll(&writable, 1, patience_ms) == 0) {
    errno = ETIMEDOUT;
    return {};
  }
  errno = connection_error(connection);
  if (errno != 0) return {};
  return connection;
}

std::unique_ptr<exchange> connect_to(const std::string& place) {
  std::string host;
  std::uint16_t port = 0;
  if (!parse_meeting_place(place, host, port))
    base::fatal("TOBI_CONNECT=" + place + " is not HOST or HOST:PORT.", base::exit_usage);
  const std::vector<std::string> addresses = addresses_of(host);
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds patience{30};
  const auto end = clock::now() + patience;
  peer hub;
  for (std::size_t i = 0; !hub.connection; ++i) {
    hub.connection = connected_to(addresses[i % addresses.size()], port);
    if (hub.connection) break;
    const int why = errno;
    if (clock::now() > end) {
      base::fatal("nobody listens on " + host + ", TCP port " + std::to_string(port) + " (" + std::strerror(why) +
                  "); start the other process first, with TOBI_LISTEN or --listen.");
    }
    const timespec moment{0, 200'000'000};
    nanosleep(&moment, nullptr);
  }
  const manner& own = chosen_manner();
  const std::string wish = own.place == 0 ? "" : "\n" + std::to_string(own.place);
  (void)hub.say(kind::hello, {}, base::host_name() + "\n" + own.purpose + wish);
  hub.host = host;
  while (!hub.has_message()) {
    pollfd readable{hub.connection.fd(), POLLIN, 0};
    (void)poll(&readable, 1, -1);
    if (!hub.receive() && !hub.has_message()) {
      base::fatal("the process that listened on " + host + ", TCP port " + std::to_string(port) +
                  ", has closed the connection; it may have its number of processes, or be none of Tobiuo.");
    }
    if (look_at(hub.in) == reading::foreign) {
      base::fatal("what listens on " + host + ", TCP port " + std::to_string(port) +
                      ", is none of Tobiuo, or another version; give the port that it was started with.",
                  base::exit_usage);
    }
  }
  const message m = take_from(hub.in);
  constexpr std::uint64_t most = std::numeric_limits<int>::max();
  if (m.what != kind::welcome || m.words[1] > most || m.words[0] >= m.words[1]) {
    base::fatal("the process that listens on " + host + " runs " + (m.bytes.empty() ? "a program" : m.bytes) +
                    ", and not " + (chosen_manner().purpose.empty() ? "a program" : chosen_manner().purpose) + ".",
                base::exit_usage);
  }
  hub.host = m.bytes;
  std::vector<peer> peers;
  peers.push_back(std::move(hub));
  return std::make_unique<star>(static_cast<int>(m.words[0]), static_cast<int>(m.words[1]), false, std::move(peers));
}

exchange* joined = nullptr;  // for fatal errors

}  // namespace

void set_manner(manner m) { chosen_manner() = std::move(m); }

bool parse_meeting_place(const std::string& text, std::string& host, std::uint16_t& port) {
  port = meeting_port;
  host = text;
  std::string digits;
  if (const std::size_t colon = text.rfind(':'); text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string::npos) return false;
    host = text.substr(1, end - 1);
    if (end + 1 == text.size()) return !host.empty();
    if (text[end + 1] != ':') return false;
    digits = text.substr(end + 2);
  } else if (colon != std::string::npos && text.find(':') == colon) {
    host = text.substr(0, colon);
    digits = text.substr(colon + 1);
  } else {
    return !host.empty();
  }
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return error == std::errc{} && end == digits.data() + digits.size() && port != 0 && !host.empty();
}

bool listens() noexcept { return is_given("TOBI_LISTEN"); }
bool is_asked() noexcept { return listens() || is_given("TOBI_CONNECT"); }

std::unique_ptr<exchange> join(const base::settings& in_force) {
  if (in_force.listen != 0 && !in_force.connect.empty()) {
    base::fatal("TOBI_LISTEN and TOBI_CONNECT are both set; one process listens, and the others connect to it.",
                base::exit_usage);
  }
  std::unique_ptr<exchange> met =
      in_force.listen != 0 ? listen_for(in_force.listen, in_force.ports) : connect_to(in_force.connect);
  base::set_log_identity(met->rank());
  joined = met.get();
  base::set_fatal_hook([](int status) { joined->abort(status); });
  return met;
}

}  // namespace tobi::bootstrap::tcp
