// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/message_thief.hpp"

#include <utility>

namespace tobi::pool {

message_thief::message_thief(net::fabric& net, peers& others, queue& own, sched::victims& choice, std::vector<int> near,
                             mail& post, std::size_t number, std::function<void(unsigned spins)> wait)
    : thief(net, others, own, choice, std::move(near)),
      mail_(post),
      number_(static_cast<std::uint32_t>(number)),
      wait_(std::move(wait)) {}

// The victim is there to reply: all read messages until all have left process(), which this rank has not. Two that ask
// each other reply that they have none.
std::uint64_t message_thief::take_from(int victim) {
  unsigned spins = 0;
  const auto turn = [&] { wait_(spins++); };
  own().make_room(1, turn);
  const mail::request what{number_, static_cast<std::uint32_t>(own().room()), others().own_offset(), own().head()};
  while (!mail_.send(victim, what)) turn();
  count_attempt();
  asked_ = true;
  while (asked_) turn();
  return brought_;
}

void message_thief::delivered(std::uint64_t count) noexcept {
  brought_ = count;
  asked_ = false;
}

}  // namespace tobi::pool
