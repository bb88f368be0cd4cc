// SPDX-License-Identifier: Apache-2.0
// What the processes that a launcher started settle before they are one job: which of them is on which node, how many
// workers each one is, that running stacks can move between them, and one stack-protector canary.
#pragma once

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/host_names.hpp"
#include "bootstrap/layout.hpp"
#include "bootstrap/neighbours.hpp"

namespace tobi::bootstrap {

/// What one client says of itself.
struct client_card {
  host_card host;
  int wanted = 0;  // workers on its node; 0: not said; or one_per_client
  int cores = 1;
  page_offer page;  // for its node
};

/// How the workers are spread, from all clients' CARDS. A node whose clients say no number has that of client 0. Where
/// one client is alone on its node it gets all workers of the node; several clients share them equally, and are one
/// worker each where nobody said a number. In WRONG, one sentence if the numbers do not go together; "" otherwise.
[[nodiscard]] plan spread_workers(const std::vector<client_card>& cards, int self, std::string& wrong);

/// A plan without what is a client's own, as text: a line for each run of clients of one node with as many workers.
[[nodiscard]] std::string to_text(const plan& p);
[[nodiscard]] plan plan_from(const std::string& text, int self);

/// Collective, over all clients of LAUNCHER. Fatal, with one message for all, where the job cannot be. IN_FORCE is what
/// this client has read, and then what rank 0 has given and offered too.
[[nodiscard]] plan agree(exchange& launcher, const layout& mine, int wanted, int cores, base::settings& in_force);

}  // namespace tobi::bootstrap
