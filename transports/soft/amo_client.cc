// SPDX-License-Identifier: Apache-2.0
#include "transports/soft/amo_client.hpp"

#include <cstring>

namespace tobi::transports::soft {

amo_client::amo_client(board& on, const amo_places& places, int rank, int size)
    : board_(on), places_(places), rank_(rank), links_(static_cast<std::size_t>(size)) {}

status amo_client::ask(int server, int endpoint, const amo_request& request, void* found) noexcept {
  link& l = links_.of(server);
  if (l.asked - l.answered >= amo_slots) return status::again;
  const auto packed = request_cell::pack(request, turn_of(l.asked, amo_slots));
  const status s = board_.write(endpoint, places_.request(rank_, l.asked), &packed, sizeof packed, announced::request);
  if (s != status::ok) return s;
  l.found[l.asked % amo_slots] = found;
  if (l.asked == l.answered) owing_.push_back(server);
  ++l.asked;
  return status::ok;
}

std::uint64_t amo_client::take(link& l, int server) noexcept {
  std::uint64_t taken = 0;
  for (; l.answered != l.asked; ++l.answered, ++taken) {
    auto* cell = reinterpret_cast<reply_cell*>(board_.at(places_.reply(server, l.answered)));
    std::uint64_t value = 0;
    if (!cell->unpack(turn_of(l.answered, amo_slots), value)) break;
    std::memcpy(l.found[l.answered % amo_slots], &value, sizeof value);
  }
  return taken;
}

bool amo_client::take_replies() noexcept {
  std::uint64_t taken = 0;
  std::erase_if(owing_, [&](int server) {
    link& l = links_.of(server);
    taken += take(l, server);
    return l.answered == l.asked;
  });
  return taken != 0;
}

}  // namespace tobi::transports::soft
