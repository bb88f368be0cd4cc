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

[[noreturn]] void refuse_version(int self, const std::string& who) {
  base::fatal_everywhere(
      self,
      who +
          " has said nothing that this version of Tobiuo understands; start the same build of one program everywhere.",
      base::exit_usage);
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

// What a client may have against what client 0 says, in the order in which one thing explains the next.
enum class objection : std::uint8_t { signs, layout, settings, none };

}  // namespace

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
  int stranger = 0;
  if (self == 0) {
    std::vector<client_card> cards;
    for (client_card c; read_card(all_cards, c);) cards.push_back(c);
    if (cards.size() == static_cast<std::size_t>(launcher.size())) {
      const plan spread = spread_workers(cards, 0, wrong);
      told = to_text(news{wrong.empty(), canary(), base::digest(own_layout), to_text(spread), said});
    } else {  // there is one of each process, and the first that is no card ends them
      stranger = static_cast<int>(cards.size());
    }
  }
  launcher.put("news", bytes_of(told));
  launcher.fence();
  news first;
  const bool understood = read_news(text_of(launcher.get(0, "news")), first);
  plan p = plan_from(first.spread, self, launcher.size());
  if (!understood || p.clients() != launcher.size()) refuse_version(self, "process " + std::to_string(stranger));
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
  if (self != 0) {
    if (const std::string why = base::take_settings(first.settings, in_force); !why.empty()) {
      base::fatal(why + "; start the same build of one program everywhere.", base::exit_usage);
    }
  }
  adopt_canary(first.canary);
  p.peer_timeout_s = in_force.peer_timeout_s;
  p.ports = in_force.ports;
  return p;
}

}  // namespace tobi::bootstrap
