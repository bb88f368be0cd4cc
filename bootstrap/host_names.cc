// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/host_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <istream>
#include <map>

#include "bootstrap/tcp/sockets.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/plain_text.hpp"

namespace tobi::bootstrap {

host_card this_host() {
  host_card h;
  h.name = base::host_name();
  std::string boot;
  base::file_in("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> processes{};
  if (readlink("/proc/self/ns/pid", processes.data(), processes.size() - 1) < 0) processes[0] = '\0';
  h.node = h.name + " " + boot + " " + processes.data();
  constexpr int enough = 4;
  int n = 0;
  for (const std::string& a : tcp::own_addresses()) {
    if (n < enough && !a.starts_with("127.") && a != "::1") h.addresses += " " + a, ++n;
  }
  return h;
}

std::string to_text(const host_card& h) { return h.name + "\n" + h.node + "\n" + h.addresses + "\n"; }

bool read_host(std::istream& in, host_card& h) {
  return std::getline(in, h.name) && std::getline(in, h.node) && std::getline(in, h.addresses);
}

std::vector<std::string> names_of_hosts(const std::vector<host_card>& of_processes) {
  std::map<std::string, std::size_t> number;  // of each node
  std::vector<const host_card*> nodes;
  for (const host_card& h : of_processes) {
    if (number.try_emplace(h.node, nodes.size()).second) nodes.push_back(&h);
  }
  // For each name, in how many nodes of it an address is.
  std::map<std::string, std::map<std::string, int>> shared;
  std::map<std::string, int> bearers;
  for (const host_card* h : nodes) {
    ++bearers[h->name];
    base::text_in in(h->addresses);
    for (std::string a; in >> a;) ++shared[h->name][a];
  }
  std::vector<std::string> names;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const host_card& h = *nodes[n];
    std::string name = h.name;
    if (bearers[h.name] > 1) {
      std::string own = "node" + std::to_string(n);
      base::text_in in(h.addresses);
      for (std::string a; in >> a;) {
        if (shared[h.name][a] > 1) continue;
        own = a;
        break;
      }
      name += "@" + own;
    }
    names.push_back(name);
  }
  std::vector<std::string> each;
  each.reserve(of_processes.size());
  for (const host_card& h : of_processes) each.push_back(names[number[h.node]]);
  return each;
}

}  // namespace tobi::bootstrap
