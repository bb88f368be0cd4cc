#include "bootstrap/clients.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "bootstrap/canary.hpp"
#include "libcore/base/log.hpp"

namespace tobi::bootstrap {

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string to_text(const client_card& c) {
  return c.host + "\n" + c.node + "\n" + std::to_string(c.wanted) + " " + std::to_string(c.cores) + " " +
         std::to_string(c.pid) + " " + std::to_string(c.page_fd);
}

client_card card_from(const std::string& text) {
  client_card c;
  std::istringstream in(text);
  std::getline(in, c.host);
  std::getline(in, c.node);
  in >> c.wanted >> c.cores >> c.pid >> c.page_fd;
  return c;
}

std::string name_of(int client, const client_card& c) { return "rank " + std::to_string(client) + " on " + c.host; }

client_card own_card(const exchange& launcher, int wanted, int cores) {
  client_card c;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) std::strcpy(host.data(), "unknown host");
  c.host = host.data();
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> processes{};
  if (readlink("/proc/self/ns/pid", processes.data(), processes.size() - 1) < 0) processes[0] = '\0';
  c.node = c.host + " " + boot + " " + processes.data();
  c.wanted = wanted;
  c.cores = cores;
  c.pid = getpid();
  c.page_fd = offer_node_page(launcher.size());
  return c;
}

// The first client of the node has the page that all its neighbours take.
void meet_neighbours(plan& p, const std::vector<client_card>& cards) {
  const std::string& here = cards[static_cast<std::size_t>(p.self)].node;
  for (int c = 0; c < p.clients(); ++c) {
    const client_card& card = cards[static_cast<std::size_t>(c)];
    if (card.node != here) continue;
    if (p.neighbours.empty() && p.shared == nullptr) p.shared = map_node_page(card.pid, card.page_fd, p.clients());
    if (c != p.self) p.neighbours.push_back({c, card.pid});
  }
  if (p.shared == nullptr) {
    base::log(base::log_level::info,
              "the processes of this node cannot share a page; the launcher alone will notice deaths.");
  }
}

}  // namespace

plan spread_workers(const std::vector<client_card>& cards, int self, std::string& wrong) {
  plan p;
  p.self = self;
  p.first.push_back(0);
  wrong.clear();
  std::map<std::string, int> number;
  std::map<std::string, int> clients_there;
  for (const client_card& c : cards) ++clients_there[c.node];
  for (const client_card& c : cards) {
    const int together = clients_there[c.node];
    int workers = 1;
    if (c.wanted == 0) {
      if (together == 1) workers = c.cores;
    } else if (c.wanted % together == 0) {
      workers = c.wanted / together;
    } else {
      wrong = std::to_string(c.wanted) + " workers on " + c.host + " cannot be shared equally by the " +
              std::to_string(together) +
              " processes that the launcher started there; set TOBI_WORKERS to a multiple of " +
              std::to_string(together) + ", or unset it for one worker a process.";
    }
    p.first.push_back(p.first.back() + workers);
    p.node.push_back(number.try_emplace(c.node, static_cast<int>(number.size())).first->second);
    p.hosts.push_back(c.host);
  }
  return p;
}

plan agree(exchange& launcher, const layout& mine, int wanted, int cores) {
  const client_card own = own_card(launcher, wanted, cores);
  const std::string card = to_text(own);
  const std::string own_layout_text = mine.to_text();
  launcher.put("card", bytes_of(card));
  launcher.put("layout", bytes_of(own_layout_text));
  if (launcher.rank() == 0) {
    const std::uintptr_t one = canary();
    launcher.put("canary", std::as_bytes(std::span(&one, 1)));
  }
  launcher.fence();

  std::vector<client_card> cards;
  for (int c = 0; c < launcher.size(); ++c) cards.push_back(card_from(text_of(launcher.get(c, "card"))));
  std::string wrong;
  plan p = spread_workers(cards, launcher.rank(), wrong);
  if (launcher.rank() == 0) {
    // One process looks and speaks for all; the others wait in the fence below.
    if (!wrong.empty()) base::fatal(wrong, base::exit_usage);
    for (int c = 1; c < launcher.size(); ++c) {
      const layout theirs = layout::from_text(text_of(launcher.get(c, "layout")));
      const std::string what =
          difference(mine, theirs, name_of(0, cards[0]), name_of(c, cards[static_cast<std::size_t>(c)]));
      if (!what.empty()) base::fatal(what, base::exit_usage);
    }
  }
  meet_neighbours(p, cards);
  launcher.fence();
  if (own.page_fd >= 0) close(own.page_fd);
  const std::vector<std::byte> bytes = launcher.get(0, "canary");
  std::uintptr_t one = 0;
  TOBI_ASSERT(bytes.size() == sizeof one, "all processes are of one architecture");
  std::memcpy(&one, bytes.data(), sizeof one);
  adopt_canary(one);
  return p;
}

}  // namespace tobi::bootstrap
