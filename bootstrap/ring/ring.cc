// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/ring/ring.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bootstrap/tcp/door.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/no_memory.hpp"

namespace tobi::bootstrap::ring {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr seconds for_the_launcher{2};
constexpr seconds for_the_other_side{1};
constexpr seconds between_knocks{1};

enum class side { previous, next };

void send_end(int fd, int status) noexcept {
  const auto word = static_cast<unsigned char>(status);
  if (fd >= 0) (void)send(fd, &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

struct member::state {
  explicit state(base::port_range range) : in(range), leave(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void run();
  void meet();                         // one turn of the loop while somebody is still missing
  void hear(side from);                // something has happened on that side's connection
  void lose(side which, bool silent);  // it is reported when the others have had their time
  void settle(side which, tcp::file connection);
  int wait_ms() const;

  tcp::door in;
  tcp::file leave;  // readable: the ring is over
  seat at;
  std::optional<tcp::guest> out;
  clock::time_point next_knock;
  int timeout_s = 0;
  handlers call{};
  clock::time_point give_up;
  tcp::file to[2];                           // by side: the connections
  std::atomic<int> told_through[2]{-1, -1};  // the same, for signal handlers
  struct loss {
    bool silent = false;
    clock::time_point told_at;
  };
  std::optional<loss> losses[2];

 private:
  tcp::file& connection(side s) { return to[static_cast<std::size_t>(s)]; }
  std::optional<loss>& lost(side s) { return losses[static_cast<std::size_t>(s)]; }
};

void member::state::settle(side which, tcp::file connected) {
  tcp::keep_alive(connected, timeout_s);
  told_through[static_cast<std::size_t>(which)].store(connected.fd(), std::memory_order_release);
  connection(which) = std::move(connected);
  if (which == side::next) out.reset();
}

void member::state::lose(side which, bool silent) {
  // The descriptor stays open until the process ends: a handler may be about to send through it.
  const bool first_witness = which == side::next;
  auto grace = silent && first_witness ? seconds(0) : for_the_launcher;
  if (!first_witness) grace += for_the_other_side;
  lost(which) = {silent, clock::now() + grace};
}

void member::state::hear(side from) {
  unsigned char status = 0;
  const ssize_t n = recv(connection(from).fd(), &status, sizeof status, 0);
  if (n > 0) {
    send_end(connection(from == side::next ? side::previous : side::next).fd(), status);
    call.told(status);
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    // A host that has begun anew knows nothing of the connection and resets it: its processes are gone, too.
    lose(from, n != 0 && errno != ECONNRESET && errno != EPIPE);
  }
}

int member::state::wait_ms() const {
  auto next = clock::time_point::max();
  if (out) next = std::min(next_knock, give_up);
  for (const auto& one : losses) {
    if (one) next = std::min(next, one->told_at);
  }
  if (next == clock::time_point::max()) return -1;
  return static_cast<int>(
      std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(next - clock::now()).count()));
}

void member::state::meet() {
  if (!out) return;
  const auto now = clock::now();
  if (now < give_up) {
    if (now >= next_knock) {
      out->knock();
      next_knock = now + between_knocks;
    }
    return;
  }
  const std::string why = out->error() != 0 ? std::strerror(out->error()) : "no answer";
  base::log(at.speaks ? base::log_level::warn : base::log_level::info,
            "host " + at.next_host + " cannot be reached over TCP (" + why +
                "): should a host be lost, the launcher alone will end the job. Open the ports of TOBI_PORTS between "
                "the hosts, or set TOBI_PEER_TIMEOUT=0.");
  out.reset();
}

void member::state::run() {
  for (;;) {
    meet();
    std::vector<pollfd> all{{leave.fd(), POLLIN, 0}};
    for (const side s : {side::previous, side::next}) {
      if (connection(s) && !lost(s)) all.push_back({connection(s).fd(), POLLIN, 0});
    }
    const std::size_t strangers = all.size();
    if (in.is_open()) all.push_back({in.fd(), POLLIN, 0});
    for (const int fd : in.unknown()) all.push_back({fd, POLLIN, 0});
    if (out) {
      for (const tcp::guest::attempt& a : out->attempts())
        all.push_back({a.fd, static_cast<short>(a.connecting ? POLLOUT : POLLIN), 0});
    }
    if (poll(all.data(), all.size(), wait_ms()) < 0 && errno != EINTR) return;
    if (all[0].revents != 0) return;
    for (std::size_t i = 1; i < all.size(); ++i) {
      const int fd = all[i].fd;
      if (all[i].revents == 0) continue;
      if (i < strangers) {
        hear(fd == connection(side::next).fd() ? side::next : side::previous);
      } else if (in.is_open() && fd == in.fd()) {
        in.answer();
      } else {
        if (tcp::file known = in.hear(fd)) settle(side::previous, std::move(known));
        if (out) {
          if (tcp::file known = out->hear(fd)) settle(side::next, std::move(known));
        }
      }
    }
    for (const side s : {side::next, side::previous}) {
      if (!lost(s) || clock::now() < lost(s)->told_at) continue;
      const bool silent = lost(s)->silent;
      // Returns where the job is over; the ring is left then, too.
      call.lost(s == side::next ? at.next : at.previous, silent);
      return;
    }
  }
}

member::member(base::port_range range) : state_(std::make_shared<state>(range)) {}

void member::leave() noexcept {
  if (state_->leave) (void)eventfd_write(state_->leave.fd(), 1);
}

std::string member::door_text() const { return state_->in.is_open() ? state_->in.text() : ""; }

void member::sit_down(const seat& at, const std::string& next_door, int timeout_s, const handlers& call) {
  state& s = *state_;
  s.at = at;
  s.timeout_s = timeout_s;
  s.call = call;
  s.out.emplace(next_door);
  s.give_up = clock::now() + seconds(timeout_s);
  // The signals are the workers'.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([kept = state_] {
      base::is_own_thread = true;
      kept->run();
    }).detach();
  } catch (const std::system_error& e) {
    base::log(base::log_level::warn, std::string("no thread to watch the other hosts (") + e.what() +
                                         "); the launcher alone will notice when one is lost.");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool member::is_seated() const noexcept {
  return state_->told_through[0].load(std::memory_order_acquire) >= 0 &&
         state_->told_through[1].load(std::memory_order_acquire) >= 0;
}

void member::say_end(int status) noexcept {
  for (const auto& fd : state_->told_through) send_end(fd.load(std::memory_order_acquire), status);
}

}  // namespace tobi::bootstrap::ring
