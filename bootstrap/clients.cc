// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/clients.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <sstream>

#include "bootstrap/canary.hpp"
#include "bootstrap/rounds.hpp"
#include "bootstrap/signed_code.hpp"
#include "libcore/base/agreement.hpp"
#include "libcore/base/digest.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/plain_text.hpp"

namespace tobi::bootstrap {

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string to_text(const client_card& c) {
  std::string text = to_text(c.host) + std::to_string(c.wanted) + " " + std::to_string(c.cores);
  const page_offer& p = c.page;
  text += " " + std::to_string(p.pid) + " " + std::to_string(p.fd);
  text += " " + std::to_string(p.device) + " " + std::to_string(p.inode);
  return text + "\n";
}

// False: there is no more.
bool read_card(std::istream& in, client_card& c) {
  if (!read_host(in, c.host)) return false;
  in >> c.wanted >> c.cores >> c.page.pid >> c.page.fd >> c.page.device >> c.page.inode;
  in.ignore();  // the end of the line
  return !in.fail();
}

// What client 0 tells the others when it has all cards, in one value.
struct news {
  bool good = false;          // the plan
  std::uintptr_t canary = 0;  // for all
  std::uint64_t layout = 0;   // digest of its own
  std::string spread;         // to_text(plan)
  std::string settings;       // what its environment says
};
std::string to_text(const news& n) {
  return std::to_string(n.good ? 1 : 0) + " " + std::to_string(n.canary) + " " + std::to_string(n.layout) + " " +
         std::to_string(n.spread.size()) + "\n" + n.spread + n.settings;
}
news news_from(const std::string& text) {
  news n;
  base::text_in in(text);
  std::size_t bytes = 0;
  in >> n.good >> n.canary >> n.layout >> bytes;
  const std::size_t behind = text.find('\n') + 1;
  n.spread = text.substr(behind, bytes);
  n.settings = text.substr(behind + bytes);
  return n;
}

client_card own_card(const exchange& launcher, int wanted, int cores) {
  client_card c;
  c.host = this_host();
  c.wanted = wanted;
  c.cores = launcher.may_fork() ? cores : 1;  // it would have no use for more
  c.page = offer_node_page(launcher.size());
  return c;
}

// The first client of the node has the page that all its neighbours take.
void meet_neighbours(plan& p, exchange& launcher) {
  const int here = p.node[p.self];
  for (int c = 0; c < p.clients(); ++c) {
    if (p.node[c] != here) continue;
    client_card card;
    base::text_in in(text_of(launcher.get(c, "card")));
    (void)read_card(in, card);
    if (p.neighbours.empty() && p.shared == nullptr) p.shared = map_node_page(card.page, p.clients());
    if (c != p.self) p.neighbours.push_back({c, card.page.pid});
  }
  if (p.shared == nullptr) {
    base::log(base::log_level::info,
              "the processes of this node cannot share a page; the launcher alone will notice deaths.");
  }
}

std::string in_words(int wanted) {
  return wanted == one_per_client ? "one worker per process" : std::to_string(wanted) + " workers";
}

// What a client may have against what client 0 says, in the order in which one thing explains the next.
enum class objection : std::uint8_t { signs, layout, settings, none };

}  // namespace

plan spread_workers(const std::vector<client_card>& cards, int self, std::string& wrong) {
  plan p;
  p.self = self;
  p.first.push_back(0);
  wrong.clear();
  struct node_here {
    int number;
    int clients;
    int first;   // client
    int wanted;  // which process has said it; 0: none
  };
  std::map<std::string, node_here> nodes;
  for (std::size_t c = 0; c < cards.size(); ++c) {
    const auto number = static_cast<int>(nodes.size());
    node_here& n = nodes.try_emplace(cards[c].host.node, node_here{number, 0, static_cast<int>(c), 0}).first->second;
    ++n.clients;
    if (n.wanted == 0) n.wanted = cards[c].wanted;
  }
  std::vector<host_card> hosts;
  hosts.reserve(cards.size());
  for (const client_card& c : cards) hosts.push_back(c.host);
  const std::vector<std::string> names = names_of_hosts(hosts);
  for (std::size_t c = 0; c < cards.size(); ++c) {
    const client_card& card = cards[c];
    const node_here& here = nodes.at(card.host.node);
    const int wanted = here.wanted != 0 ? here.wanted : cards[0].wanted;
    int workers = 1;
    if (card.wanted != 0 && card.wanted != wanted) {
      wrong = "process " + std::to_string(c) + " on " + names[c] + " asks for " + in_words(card.wanted) +
              " there and process " + std::to_string(here.first) + " for " + in_words(wanted) +
              "; set TOBI_WORKERS alike for all processes of a node.";
    } else if (wanted == one_per_client) {
      workers = 1;
    } else if (wanted == 0) {
      if (here.clients == 1) workers = card.cores;
    } else if (wanted % here.clients == 0) {
      workers = wanted / here.clients;
    } else {
      wrong = std::to_string(wanted) + " workers on " + names[c] + " cannot be shared equally by the " +
              std::to_string(here.clients) +
              " processes that the launcher started there; set TOBI_WORKERS to a multiple of " +
              std::to_string(here.clients) + ", or unset it for one worker per process.";
    }
    p.first.push_back(p.first.back() + workers);
    p.node.push_back(here.number);
    if (here.first == static_cast<int>(c)) p.hosts.push_back(names[c]);
  }
  return p;
}

std::string to_text(const plan& p) {
  std::string text;
  for (int c = 0; c < p.clients();) {
    const int node = p.node[c];
    const auto is_like_it = [&](int other) { return p.node[other] == node && p.workers(other) == p.workers(c); };
    int n = 1;
    while (c + n < p.clients() && is_like_it(c + n)) ++n;
    text +=
        std::to_string(node) + " " + std::to_string(n) + " " + std::to_string(p.workers(c)) + " " + p.host(c) + "\n";
    c += n;
  }
  return text;
}

plan plan_from(const std::string& text, int self) {
  plan p;
  p.self = self;
  p.first.push_back(0);
  base::text_in in(text);
  std::size_t node = 0;
  int clients = 0;
  int workers = 0;
  std::string host;
  while (in >> node >> clients >> workers >> std::ws && std::getline(in, host)) {
    if (node == p.hosts.size()) p.hosts.push_back(host);
    for (int c = 0; c < clients; ++c) {
      p.first.push_back(p.first.back() + workers);
      p.node.push_back(static_cast<int>(node));
    }
  }
  return p;
}

// Client 0 reads all cards, along a tree, and tells all others in one value what follows. Each compares itself with
// that value, and the first that objects, if any does, is named; only then is it read what that one has. So no client
// reads something of each of the others but client 0, and it the cards alone, some hundred bytes each.
//
// Client 0 speaks for all. It does so when nobody is in a fence any more: Open MPI's mpirun may hang where a job is
// aborted within one.
plan agree(exchange& launcher, const layout& mine, int wanted, int cores, base::settings& in_force) {
  const int self = launcher.rank();
  const client_card own = own_card(launcher, wanted, cores);
  const std::string card = to_text(own);
  const std::string own_layout = mine.to_text();
  const std::string said = base::said_settings();
  launcher.put("card", bytes_of(card));
  if (self == 0) launcher.put("layout", bytes_of(own_layout));
  base::text_in all_cards(gather_by_rounds(launcher, card, "card"));

  std::string wrong;
  std::string told;  // the others have none
  if (self == 0) {
    std::vector<client_card> cards;
    for (client_card c; read_card(all_cards, c);) cards.push_back(c);
    TOBI_ASSERT(cards.size() == static_cast<std::size_t>(launcher.size()), "each process has put a card");
    const plan spread = spread_workers(cards, 0, wrong);
    told = to_text(news{wrong.empty(), canary(), base::digest(own_layout), to_text(spread), said});
  }
  launcher.put("news", bytes_of(told));
  launcher.fence();
  const news first = news_from(text_of(launcher.get(0, "news")));
  plan p = plan_from(first.spread, self);
  const auto name_of = [&](int c) { return "rank " + std::to_string(p.first[c]) + " on " + p.host(c); };
  const auto layout_of = [&](int c) { return layout::from_text(text_of(launcher.get(c, "layout"))); };
  const auto has_other_layout = [&] {
    return base::digest(own_layout) != first.layout && !difference(layout_of(0), mine, "", "").empty();
  };
  objection against = objection::none;
  if (!why_signed_code_cannot_move(launcher.size(), signs_returns(), "").empty()) {
    against = objection::signs;
  } else if (has_other_layout()) {
    against = objection::layout;
  } else if (!base::contradiction(first.settings, said, "", "").empty()) {
    against = objection::settings;
  }
  meet_neighbours(p, launcher);
  std::uint64_t least = static_cast<std::uint64_t>(against) << 32 | static_cast<std::uint32_t>(self);
  launcher.least({&least, 1});
  if (own.page.fd >= 0) close(own.page.fd);
  const auto objects = static_cast<objection>(least >> 32);
  if (!first.good || objects != objection::none) {
    if (self != 0) launcher.put("layout", bytes_of(own_layout));
    launcher.put("settings", bytes_of(said));
    launcher.fence();
    if (self == 0 && wrong.empty()) {
      const auto who = static_cast<int>(least & 0xffffffff);
      wrong = objects == objection::signs ? why_signed_code_cannot_move(launcher.size(), true, name_of(who))
              : objects == objection::layout
                  ? difference(mine, layout_of(who), name_of(0), name_of(who))
                  : base::contradiction(said, text_of(launcher.get(who, "settings")), name_of(0), name_of(who));
    }
    base::fatal_everywhere(self, self == 0 ? wrong : name_of(0) + " has refused this job.", base::exit_usage);
  }
  if (self != 0) base::take_settings(first.settings, in_force);
  adopt_canary(first.canary);
  p.peer_timeout_s = in_force.peer_timeout_s;
  p.ports = in_force.ports;
  return p;
}

}  // namespace tobi::bootstrap
