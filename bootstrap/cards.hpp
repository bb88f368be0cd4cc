// SPDX-License-Identifier: Apache-2.0
// What the processes that a launcher started tell each other, as text, and what follows from it: each has a card,
// client 0 makes a plan of all cards, and the news that it tells has the plan for all.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/host_names.hpp"
#include "bootstrap/neighbours.hpp"

namespace tobi::bootstrap {

/// What one client says of itself.
struct client_card {
  host_card host;
  int wanted = 0;  // workers on its node; 0: not said; or one_per_client
  int cores = 1;
  page_offer page;  // for its node
};
[[nodiscard]] std::string to_text(const client_card& c);
/// False: there is no more, or what is there is no card of this version.
[[nodiscard]] bool read_card(std::istream& in, client_card& c);

/// What client 0 tells the others when it has all cards, in one value.
struct news {
  bool good = false;          // the plan
  std::uintptr_t canary = 0;  // for all
  std::uint64_t layout = 0;   // digest of its own
  std::string spread;         // to_text(plan)
  std::string settings;       // what its environment says
};
[[nodiscard]] std::string to_text(const news& n);
/// False: TEXT is no news of this version.
[[nodiscard]] bool read_news(const std::string& text, news& n);

/// How the workers are spread, from all clients' CARDS. A node whose clients say no number has that of client 0. Where
/// one client is alone on its node it gets all workers of the node; several clients share them equally, and are one
/// worker each where nobody said a number. In WRONG, one sentence if the numbers do not go together; "" otherwise.
[[nodiscard]] plan spread_workers(const std::vector<client_card>& cards, int self, std::string& wrong);

/// A plan without what is a client's own: a line for each run of clients of one node with as many workers.
[[nodiscard]] std::string to_text(const plan& p);
/// A plan of no clients where TEXT is none, or one of more clients than MOST.
[[nodiscard]] plan plan_from(const std::string& text, int self, int most);

}  // namespace tobi::bootstrap
