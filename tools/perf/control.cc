// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/control.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "bootstrap/tcp/door.hpp"
#include "libcore/base/log.hpp"

namespace tobi_perf {

namespace {

namespace base = tobi::base;
namespace tcp = tobi::bootstrap::tcp;

enum class word : std::uint32_t { order, stop, rest, quit, ready, stopped, facts };
struct letter {
  word what;
  order of{};
  done_by_itself done{};
  process_facts met{};
};

// False: the other end has closed.
bool send_all(const tcp::file& to, const letter& l) {
  const auto* bytes = reinterpret_cast<const char*>(&l);
  for (std::size_t sent = 0; sent < sizeof l;) {
    const ssize_t n = send(to.fd(), bytes + sent, sizeof l - sent, MSG_NOSIGNAL);
    pollfd writable{to.fd(), POLLOUT, 0};
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      (void)poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}
bool receive_all(const tcp::file& from, letter& l) {
  auto* bytes = reinterpret_cast<char*>(&l);
  for (std::size_t have = 0; have < sizeof l;) {
    const ssize_t n = recv(from.fd(), bytes + have, sizeof l - have, 0);
    pollfd readable{from.fd(), POLLIN, 0};
    if (n > 0) {
      have += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EAGAIN) {
      (void)poll(&readable, 1, -1);
    } else if (n == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

[[noreturn]] void lost() {
  base::let_a_death_be_told();
  base::fatal("another rank of the measurement has closed its connection.");
}

constexpr const char* key = "control";

using clock = std::chrono::steady_clock;
constexpr std::chrono::seconds for_connections{30};

tcp::file connected(const std::string& text, const std::string& whom) {
  tcp::guest out(text);
  for (const auto end = clock::now() + for_connections; clock::now() < end;) {
    out.knock();
    std::vector<pollfd> all;
    for (const auto& a : out.attempts()) all.push_back({a.fd, static_cast<short>(a.connecting ? POLLOUT : POLLIN), 0});
    (void)poll(all.data(), all.size(), 200);
    for (const pollfd& p : all) {
      if (p.revents == 0) continue;
      if (tcp::file known = out.hear(p.fd)) return known;
    }
  }
  base::fatal(whom + " cannot be reached over TCP (" + (out.error() != 0 ? std::strerror(out.error()) : "no answer") +
              "), which the measurement is steered by; open the ports of TOBI_PORTS.");
}

}  // namespace

controller::controller(tobi::bootstrap::bootstrap& job, crowd with) : with_(with) {
  job.put(key, {});
  job.fence();
  for (int r = 1; r < job.size(); ++r) {
    const auto text = job.get(r, key);
    ranks_.push_back(connected({reinterpret_cast<const char*>(text.data()), text.size()}, base::name_of_rank(r)));
  }
}

void controller::begin(const work& w, std::uint32_t lane) {
  const std::size_t told = with_ == crowd::none ? 1 : ranks_.size();
  letter l{word::order, {w, lane, false, false}};
  for (std::size_t i = 0; i < told; ++i) {
    l.of.todo.both_ways = w.both_ways || with_ == crowd::all_to_all || (with_ == crowd::incast && i > 0);
    if (!send_all(ranks_[i], l)) lost();
  }
  for (std::size_t i = 0; i < told; ++i) {
    if (letter ready{}; !receive_all(ranks_[i], ready)) lost();
  }
}

done_by_itself controller::stop(const std::function<void(const stop_flag& stopped)>& serve) {
  if (with_ != crowd::none) return stop_crowd(serve);
  letter l{word::stop};
  if (!send_all(ranks_[0], l)) lost();
  stop_flag stopped{0};
  std::thread hears([&] {
    if (!receive_all(ranks_[0], l)) lost();
    stopped.store(1, std::memory_order_release);
  });
  serve(stopped);
  hears.join();
  return l.done;
}

// All that work stop, and serve those that have not stopped yet; then all rest.
done_by_itself controller::stop_crowd(const std::function<void(const stop_flag& stopped)>& serve) {
  const std::size_t first = with_ == crowd::incast ? 1 : 0;  // that works
  const auto tell = [&](std::size_t from, std::size_t to, word what) {
    for (std::size_t i = from; i < to; ++i) {
      if (!send_all(ranks_[i], {what})) lost();
    }
  };
  done_by_itself all;
  const auto hear = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      letter l{};
      if (!receive_all(ranks_[i], l)) lost();
      if (l.what != word::stopped) continue;
      all.operations += l.done.operations;
      all.ns += l.done.ns / (ranks_.size() - first);
      all.without_core_ns = std::max(all.without_core_ns, l.done.without_core_ns);
      if (i == 0) all.core_ns = l.done.core_ns;
    }
  };
  tell(first, ranks_.size(), word::stop);
  stop_flag stopped{0};
  std::thread hears([&] {
    hear(first, ranks_.size());
    stopped.store(1, std::memory_order_release);
  });
  serve(stopped);
  hears.join();
  tell(first, ranks_.size(), word::rest);
  hear(first, ranks_.size());
  tell(0, first, word::stop);
  hear(0, first);
  return all;
}

void controller::meet() {
  if (!send_all(ranks_[0], {word::order, {{}, 0, false, true}})) lost();
}

process_facts controller::facts() {
  letter l{word::facts};
  if (!send_all(ranks_[0], l) || !receive_all(ranks_[0], l)) lost();
  return l.met;
}

void controller::quit() {
  for (const tcp::file& rank : ranks_) {
    if (!send_all(rank, {word::quit, {{}, 0, true, false}})) lost();
  }
}

struct listener::state {
  tcp::file rank_0;
  order now{};
  std::atomic<std::uint32_t> orders{0};  // that have come; waited on
  std::uint32_t taken = 0;               // by the rank's own thread
  stop_flag stop{0};
  stop_flag rest{0};
  std::atomic<bool> over{false};

  void listen() {
    for (letter l{}; receive_all(rank_0, l);) {
      if (l.what == word::stop) {
        stop.store(1, std::memory_order_release);
        continue;
      }
      if (l.what == word::rest) {
        rest.store(1, std::memory_order_release);
        continue;
      }
      if (l.what == word::facts) {  // nothing else is under way on the connection
        if (!send_all(rank_0, {word::facts, {}, {}, own_facts()})) break;
        continue;
      }
      now = l.of;
      stop.store(0, std::memory_order_relaxed);
      rest.store(0, std::memory_order_relaxed);
      over.store(l.of.quit, std::memory_order_release);
      orders.fetch_add(1, std::memory_order_release);
      orders.notify_all();
      if (l.of.quit) return;
    }
    lost();
  }
};

listener::listener(tobi::bootstrap::bootstrap& job) : state_(std::make_shared<state>()) {
  tcp::door in({});
  const std::string text = in.is_open() ? in.text() : "";
  job.put(key, std::as_bytes(std::span(text.data(), text.size())));
  job.fence();
  const auto end = clock::now() + for_connections;
  while (!state_->rank_0) {
    if (clock::now() > end)
      base::fatal(base::name_of_rank(0) + " has not connected over TCP, by which it steers this rank.");
    std::vector<pollfd> all{{in.fd(), POLLIN, 0}};
    for (const int fd : in.unknown()) all.push_back({fd, POLLIN, 0});
    (void)poll(all.data(), all.size(), 200);
    in.answer();
    for (const int fd : in.unknown()) {
      if (tcp::file known = in.hear(fd)) state_->rank_0 = std::move(known);
    }
  }
  sigset_t every;
  sigset_t before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  std::thread([kept = state_] { kept->listen(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

order listener::next() {
  state_->orders.wait(state_->taken, std::memory_order_acquire);
  ++state_->taken;
  return state_->now;
}
void listener::say_ready() {
  if (!send_all(state_->rank_0, {word::ready})) lost();
}
const stop_flag& listener::stop() const noexcept { return state_->stop; }
void listener::say_stopped(const done_by_itself& what) {
  if (!send_all(state_->rank_0, {word::stopped, {}, what})) lost();
}
const stop_flag& listener::rest() const noexcept { return state_->rest; }
void listener::say_resting() {
  if (!send_all(state_->rank_0, {word::rest})) lost();
}
bool listener::is_over() const noexcept { return state_->over.load(std::memory_order_acquire); }

}  // namespace tobi_perf
