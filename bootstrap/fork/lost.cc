// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/fork/lost.hpp"

#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "bootstrap/fork/death.hpp"
#include "bootstrap/neighbours.hpp"
#include "bootstrap/ring/ring.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/text_line.hpp"

namespace tobi::bootstrap::forked {

namespace {

// Which processes the clients are: read on the launcher's threads and on the ring's.
const plan* clients_of_job = nullptr;
int timeout_s = 0;

// Its members stay until the process ends: a signal handler may be about to speak through one.
std::list<ring::member>& members() {
  static auto& all = *new std::list<ring::member>;
  return all;
}
std::atomic<ring::member*> in_ring{nullptr};

using line = base::text_buffer<512>;

int first_client_of(int node) noexcept {
  const plan& p = *clients_of_job;
  int client = 0;
  while (p.node[client] != node) ++client;
  return client;
}

void add_range(line& to, int first, int last) noexcept {
  (to << (first == last ? "rank " : "ranks ")).number(static_cast<unsigned>(first));
  if (first != last) (to << " to ").number(static_cast<unsigned>(last));
}

void add_client(line& to, int client) noexcept {
  const plan& p = *clients_of_job;
  if (p.workers(client) > 1) to << "the process of ";
  add_range(to, p.first[client], p.first[client + 1] - 1);
  to << " on " << p.host(client);
}

// Launchers may deal ranks out in turn: those that follow each other from the first on are named.
void add_host(line& to, int node) noexcept {
  const plan& p = *clients_of_job;
  const int first = first_client_of(node);
  int next = first + 1;
  while (next < p.clients() && p.node[next] == node) ++next;
  to << "host " << p.host(first) << " (";
  add_range(to, p.first[first], p.first[next] - 1);
  to << ")";
}

[[noreturn]] void end_because_of(int client, const char* how, bool by_launcher) noexcept {
  line l;
  if (client < 0) {
    l << "the launcher's server on " << own_host();
  } else {
    add_client(l, client);
  }
  l << " is gone (" << how << "); the job ends.";
  end_from_outside(l.view(), base::exit_failure, by_launcher);
}

void give_the_launcher_time() noexcept {
  const timespec two_seconds{2, 0};
  nanosleep(&two_seconds, nullptr);
}

// The launcher says that another client is gone, on a thread of its library, to all that are left. A neighbour of that
// one has most likely said so and asked the launcher to end the others: they speak where it does not.
void client_lost(int client, const char* how) noexcept {
  if (is_finalized()) return;
  give_the_launcher_time();
  if (!is_finalized()) end_because_of(client, how, false);
}

// The thread of watch_neighbours() sees that another client of this node is gone. Other nodes do not.
void neighbour_lost(int client, const char* how) noexcept {
  if (!is_finalized()) end_because_of(client, how, true);
}

// The ring's thread: another node is gone.
void host_lost(int node, bool silent) noexcept {
  if (is_finalized()) return;
  line l;
  add_host(l, node);
  if (silent) {
    (l << " has been silent for ").number(static_cast<unsigned>(timeout_s));
    l << " s (TOBI_PEER_TIMEOUT): its power, kernel or network is lost; the job ends.";
  } else {
    l << " is lost: its processes have ended; the job ends.";
  }
  end_from_outside(l.view(), base::exit_failure, true);
}

// Another node ends the job, and somebody there has said why. Where the launcher has been asked to end it too, its own
// status is the better one.
void told_to_end(int status) noexcept {
  if (is_finalized()) return;
  (void)claim_report();
  give_the_launcher_time();
  if (!is_finalized()) end_from_outside("", status == 0 ? base::exit_failure : status, false);
}

void say_end_to_hosts(int status) noexcept {
  if (ring::member* const self = in_ring.load(std::memory_order_acquire); self != nullptr) self->say_end(status);
}

}  // namespace

void say_finished() noexcept {
  const plan& p = *clients_of_job;
  if (p.shared != nullptr) p.shared->finished[p.self].store(1, std::memory_order_release);
}

void set_launcher(exchange* to, std::shared_ptr<const plan> spread) {
  if (to != nullptr) {
    clients_of_job = (new std::shared_ptr<const plan>(std::move(spread)))->get();  // kept: threads read it
    // Longer than the ring takes to say that a node has closed its connection.
    constexpr int until_the_ring_has_spoken_s = 4;
    if (clients_of_job->hosts.size() > 1) base::give_news_of_death(until_the_ring_has_spoken_s);
    to->watch(client_lost);
    const plan& p = *clients_of_job;
    if (p.shared != nullptr) watch_neighbours(p.neighbours, p.shared, neighbour_lost);
  } else if (ring::member* const self = in_ring.exchange(nullptr, std::memory_order_acq_rel); self != nullptr) {
    self->leave();
  }
  set_rest_of_job(to, to != nullptr ? say_end_to_hosts : nullptr);
}

std::string offer_door() {
  const plan& p = *clients_of_job;
  const int own_node = p.node[p.self];
  if (p.peer_timeout_s == 0 || p.hosts.size() < 2 || first_client_of(own_node) != p.self) return "";
  ring::member& self = members().emplace_back(p.ports);
  const std::string text = self.door_text();
  if (text.empty()) {
    base::log(base::log_level::warn, std::string("no TCP port for the host before this one to watch it (") +
                                         std::strerror(errno) +
                                         "): should this host be lost, the launcher alone will notice. TOBI_PORTS "
                                         "chooses the ports, and TOBI_PEER_TIMEOUT=0 does without.");
  }
  return text;
}

void join_ring(exchange& launcher, std::string_view key) {
  const plan& p = *clients_of_job;
  const int own_node = p.node[p.self];
  if (p.peer_timeout_s == 0 || p.hosts.size() < 2 || first_client_of(own_node) != p.self) return;
  timeout_s = p.peer_timeout_s;
  const auto nodes = static_cast<int>(p.hosts.size());
  const ring::seat at{(own_node + nodes - 1) % nodes, (own_node + 1) % nodes, p.hosts[(own_node + 1) % nodes],
                      own_node == 0};
  const std::vector<std::byte> door = launcher.get(first_client_of(at.next), key);
  ring::member& self = members().back();
  self.sit_down(at, {reinterpret_cast<const char*>(door.data()), door.size()}, timeout_s, {host_lost, told_to_end});
  in_ring.store(&self, std::memory_order_release);
}

}  // namespace tobi::bootstrap::forked
