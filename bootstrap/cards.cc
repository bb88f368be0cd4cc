// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/cards.hpp"

#include <map>
#include <string_view>
#include <vector>

#include "libcore/base/plain_text.hpp"

namespace tobi::bootstrap {

namespace {

// Processes of another version begin with something else.
constexpr std::string_view version = "tobiuo1";
constexpr int workers_max = 1 << 24;

bool is_of_this_version(std::istream& in) {
  std::string first;
  return in >> first && first == version && in.get() == '\n';
}

std::string in_words(int wanted) {
  return wanted == one_per_client ? "one worker per process" : std::to_string(wanted) + " workers";
}

}  // namespace

std::string to_text(const client_card& c) {
  std::string text = std::string(version) + "\n" + to_text(c.host);
  const page_offer& p = c.page;
  text += std::to_string(c.wanted) + " " + std::to_string(c.cores);
  text += " " + std::to_string(p.pid) + " " + std::to_string(p.fd);
  text += " " + std::to_string(p.device) + " " + std::to_string(p.inode);
  return text + "\n";
}

bool read_card(std::istream& in, client_card& c) {
  if (!is_of_this_version(in) || !read_host(in, c.host)) return false;
  in >> c.wanted >> c.cores >> c.page.pid >> c.page.fd >> c.page.device >> c.page.inode;
  const bool possible = c.wanted >= one_per_client && c.wanted <= workers_max && c.cores > 0 && c.cores <= workers_max;
  return in.get() == '\n' && possible;
}

std::string to_text(const news& n) {
  return std::string(version) + "\n" + std::to_string(n.good ? 1 : 0) + " " + std::to_string(n.canary) + " " +
         std::to_string(n.layout) + " " + std::to_string(n.spread.size()) + "\n" + n.spread + n.settings;
}

bool read_news(const std::string& text, news& n) {
  base::text_in in(text);
  std::size_t bytes = 0;
  if (!is_of_this_version(in) || !(in >> n.good >> n.canary >> n.layout >> bytes) || in.get() != '\n') return false;
  const auto behind = static_cast<std::size_t>(in.tellg());
  if (bytes > text.size() - behind) return false;
  n.spread = text.substr(behind, bytes);
  n.settings = text.substr(behind + bytes);
  return true;
}

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

plan plan_from(const std::string& text, int self, int most) {
  plan p;
  p.self = self;
  p.first.push_back(0);
  base::text_in in(text);
  std::size_t node = 0;
  int clients = 0;
  int workers = 0;
  std::string host;
  while (in >> node >> clients >> workers && in.get() == ' ' && std::getline(in, host)) {
    const bool good = node <= p.hosts.size() && clients > 0 && clients <= most - p.clients() && workers > 0 &&
                      workers <= (workers_max - p.first.back()) / clients;
    if (!good) return {};
    if (node == p.hosts.size()) p.hosts.push_back(host);
    for (int c = 0; c < clients; ++c) {
      p.first.push_back(p.first.back() + workers);
      p.node.push_back(static_cast<int>(node));
    }
  }
  return p;
}

}  // namespace tobi::bootstrap
