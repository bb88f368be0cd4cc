// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/agents.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "arch/topology.hpp"
#include "bootstrap/tcp/door.hpp"
#include "bootstrap/tcp/meeting.hpp"
#include "libcore/base/log.hpp"
#include "tools/perf/measure.hpp"

namespace tobi_perf {

namespace {

namespace base = tobi::base;
namespace tcp = tobi::bootstrap::tcp;

constexpr std::chrono::seconds patience{20};  // for a connection between two hosts

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
void put_text(tobi::bootstrap::bootstrap& job, std::string_view key, const std::string& text) {
  job.put(key, std::as_bytes(std::span(text.data(), text.size())));
}

// Calls HEAR(fd) for what can be read, or written where it still connects, until DONE() or for as long as patience is.
template <class Waits, class Hear, class Done>
void until(const Waits& waits, const Hear& hear, const Done& done) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!done() && std::chrono::steady_clock::now() < end) {
    std::vector<pollfd> all = waits();
    constexpr int moment_ms = 100;
    (void)poll(all.data(), all.size(), moment_ms);
    for (const pollfd& p : all) {
      if (p.revents != 0) hear(p.fd);
    }
  }
}

void let_in(tcp::door& door) {
  tcp::file visitor;
  until(
      [&] {
        std::vector<pollfd> all{{door.fd(), POLLIN, 0}};
        for (const int fd : door.unknown()) all.push_back({fd, POLLIN, 0});
        return all;
      },
      [&](int fd) {
        if (fd == door.fd()) {
          door.answer();
        } else {
          visitor = door.hear(fd);
        }
      },
      [&] { return static_cast<bool>(visitor); });
}

// The address of the host whose door says TEXT; "": none of them leads there.
std::string address_of(const std::string& text) {
  tcp::guest guest(text);
  tcp::file found;
  until(
      [&] {
        guest.knock();
        std::vector<pollfd> all;
        for (const auto& [fd, connecting] : guest.attempts())
          all.push_back({fd, static_cast<short>(connecting ? POLLOUT : POLLIN), 0});
        return all;
      },
      [&](int fd) {
        if (!found) found = guest.hear(fd);
      },
      [&] { return static_cast<bool>(found); });
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  char name[NI_MAXHOST] = "";
  if (!found || getpeername(found.fd(), reinterpret_cast<sockaddr*>(&peer), &length) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&peer), length, name, sizeof name, nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  return name;
}

}  // namespace

agents::agents(tobi::bootstrap::bootstrap& job, const base::settings& in_force)
    : job_(job), settings_(in_force), met_(tcp::is_asked() && job.size() == 2), order_(order()) {
  std::string here;
  for (const auto& core : tobi::arch::this_machine().cores) here += fmt::format("{} ", core.os_cpu);
  put_text(job_, "cores", here);
  way_ = find_way();
  put_text(job_, "way", way_);
  job_.fence();
  for (int rank = 0; rank < job_.size(); ++rank) {
    if (!met_ && text_of(job_.get(rank, "way")).empty()) {
      base::fatal_everywhere(
          job_.rank(),
          fmt::format("{} cannot reach {} over TCP, where the parts of a sheet meet; let its firewall through, or name "
                      "free ports (TOBI_PORTS).",
                      base::name_of_rank(rank), base::name_of_rank(0)),
          base::exit_failure);
    }
    std::set<std::string> cores;  // a launcher may have given each process of a node others
    for (int other = 0; other < job_.size(); ++other) {
      if (job_.nodes()[other] != job_.nodes()[rank]) continue;
      for (const std::string_view core : base::split(text_of(job_.get(other, "cores")), ' ')) cores.emplace(core);
    }
    cores.erase("");
    cores_.push_back(static_cast<int>(cores.size()));
  }
}

std::vector<int> agents::order() const {
  std::vector<int> all(static_cast<std::size_t>(job_.size()));
  for (int rank = 0; rank < job_.size(); ++rank) all[static_cast<std::size_t>(rank)] = rank;
  const auto far = std::find_if(all.begin(), all.end(), [&](int r) { return job_.nodes()[r] != job_.nodes()[0]; });
  if (far != all.end()) std::rotate(all.begin() + 1, far, far + 1);
  return all;
}

std::string agents::find_way() const {
  // The first rank of each other node tries a door of its own.
  std::vector<int> guests;
  for (int rank = 1; rank < job_.size(); ++rank) {
    const int node = job_.nodes()[rank];
    if (node != job_.nodes()[0] &&
        std::find(job_.nodes().begin(), job_.nodes().end(), node) - job_.nodes().begin() == rank)
      guests.push_back(rank);
  }
  if (met_) guests.clear();
  std::vector<std::unique_ptr<tcp::door>> doors;
  nlohmann::json texts = nlohmann::json::object();
  for (const int rank : guests) {
    if (job_.rank() != 0) break;
    doors.push_back(std::make_unique<tcp::door>(settings_.ports));
    texts[std::to_string(rank)] = doors.back()->is_open() ? doors.back()->text() : "";
  }
  put_text(job_, "doors", texts.dump());
  job_.fence();
  std::string way;
  if (std::find(guests.begin(), guests.end(), job_.rank()) != guests.end()) {
    way = address_of(nlohmann::json::parse(text_of(job_.get(0, "doors")))[std::to_string(job_.rank())]);
  }
  for (const auto& door : doors) {
    if (door->is_open()) let_in(*door);
  }
  put_text(job_, "found", way);
  job_.fence();
  if (job_.nodes()[job_.rank()] == job_.nodes()[0]) return "127.0.0.1";
  for (const int rank : guests) {
    if (job_.nodes()[rank] == job_.nodes()[job_.rank()]) return text_of(job_.get(rank, "found"));
  }
  return way;
}

std::string agents::meet(const char* word, const std::string& text) {
  const std::string key = fmt::format("{} {}", word, meetings_++);
  put_text(job_, key, text);
  job_.fence();
  return text_of(job_.get(0, key));
}

std::string agents::why_not(int processes) const {
  if (processes > job_.size())
    return fmt::format("{} processes are needed, and {} were started", processes, job_.size());
  for (int i = 0; i < processes; ++i) {
    const int node = job_.nodes()[order_[static_cast<std::size_t>(i)]];
    int of_node = 0;
    for (int j = 0; j < processes; ++j) of_node += job_.nodes()[order_[static_cast<std::size_t>(j)]] == node ? 1 : 0;
    const int cores = cores_[static_cast<std::size_t>(order_[static_cast<std::size_t>(i)])];
    if (processes > 2 && of_node > cores) {
      return fmt::format("{} of the processes need {} cores of {}, which has {}", of_node, of_node,
                         base::name_of_rank(order_[static_cast<std::size_t>(i)]), cores);
    }
  }
  return "";
}

std::string agents::command_here(const part& p, int processes, int port) const {
  // Two hosts meet as they have met: this process has the settings for it.
  const std::string without = fmt::format("-u {} ", tobi::bootstrap::job_mark);
  if (met_) return command_of(p, without, "--last-listens ");
  const bool listens = job_.rank() == 0;
  const int last = settings_.ports.high != 0 ? settings_.ports.high : std::min(port + 15, 65535);
  std::string settings = without + fmt::format("-u TOBI_LISTEN -u TOBI_CONNECT TOBI_BOOTSTRAP=tcp TOBI_PORTS={}-{} ",
                                               settings_.ports.low != 0 && !listens ? settings_.ports.low : port, last);
  const bool is_six = way_.find(':') != std::string::npos;
  settings += listens ? fmt::format("TOBI_LISTEN={} ", processes)
                      : fmt::format("TOBI_CONNECT={}{}{}:{} ", is_six ? "[" : "", way_, is_six ? "]" : "", port);
  return command_of(p, settings, listens ? "" : fmt::format("--place {} ", place()));
}

std::string agents::begin(const part& p) {
  const int processes = processes_with_servers(p.of, settings_);
  int port = 0;
  if (!met_) {
    const tcp::file listener = tcp::listen_on(settings_.ports);
    if (!listener) {
      base::fatal(fmt::format("no TCP port is free for the parts of the sheet ({}); TOBI_PORTS names others.",
                              std::strerror(errno)));
    }
    port = tcp::port_of(listener);
  }
  arguments of = p.of;
  of.transports = {p.transport};
  meet("part", nlohmann::json{to_text(of), p.deque, processes, port}.dump());
  return command_here({of, p.transport, p.deque}, processes, port);
}

void agents::serve() {
  for (std::string told = meet("part", ""); !told.empty(); told = meet("part", "")) {
    const auto what = nlohmann::json::parse(told);
    part p;
    from_text(what[0], p.of);
    p.transport = p.of.transports.front();
    p.deque = what[1];
    if (place() < what[2]) (void)std::system((command_here(p, what[2], what[3]) + " >/dev/null").c_str());
    end();
  }
}

}  // namespace tobi_perf
