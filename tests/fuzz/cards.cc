// SPDX-License-Identifier: Apache-2.0
// What the processes that a launcher started tell each other. Text that is a card, a plan or news is the same after it
// was written again.
#include "bootstrap/cards.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bootstrap/layout.hpp"
#include "bootstrap/tcp/door.hpp"
#include "libcore/base/plain_text.hpp"

namespace {

using namespace tobi::bootstrap;

constexpr int most = 1000;  // clients

void check(bool holds) {
  if (!holds) std::abort();
}

void read_cards(const std::string& text) {
  tobi::base::text_in in(text);
  std::vector<client_card> cards;
  for (client_card c; read_card(in, c);) cards.push_back(c);
  if (cards.empty()) return;
  std::string wrong;
  const plan p = spread_workers(cards, 0, wrong);
  check(p.clients() == static_cast<int>(cards.size()));
  check(to_text(plan_from(to_text(p), 0, most)) == to_text(p));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::string text(reinterpret_cast<const char*>(data), bytes);
  read_cards(text);
  const plan p = plan_from(text, 0, most);
  check(to_text(plan_from(to_text(p), 0, most)) == to_text(p));
  if (news n; read_news(text, n)) {
    news again;
    check(read_news(to_text(n), again) && again.spread == n.spread && again.settings == n.settings);
    (void)plan_from(n.spread, 0, most);
  }
  const layout l = layout::from_text(text);
  check(!l.objects.empty() || !difference(l, l, "rank 0", "rank 1").empty());
  (void)difference(
      layout::from_text("7ffff7c3e740 1000\n555555554000 a1 /usr/bin/program\n7ffff7800000 b2 libc.so.6\n"), l,
      "rank 0", "rank 1");
  const tcp::guest g(text);
  check(g.attempts().empty());
  return 0;
}
