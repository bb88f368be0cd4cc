#include "transports/soft/amo_client.hpp"

#include <cstring>

namespace tobi::transports::soft {

amo_client::amo_client(transport& over, int rank, int size)
    : over_(over),
      own_offset_(static_cast<std::size_t>(rank) * request_bytes_a_peer),
      replies_(over, static_cast<std::size_t>(size) * reply_bytes_a_peer),
      links_(static_cast<std::size_t>(size)) {}

status amo_client::connect(int server, int endpoint, const region_key& requests) {
  link& l = link_of(server);
  l.endpoint = endpoint;
  return over_.attach(endpoint, requests, l.requests);
}

status amo_client::ask(int server, const amo_request& request, void* found) noexcept {
  link& l = link_of(server);
  if (l.asked - l.answered >= amo_slots) return status::again;
  const auto packed = request_cell::pack(request, turn_of(l.asked, amo_slots));
  const std::uint64_t slot = l.asked % amo_slots;
  const status s = over_.put(l.endpoint, l.requests, own_offset_ + slot * sizeof packed, &packed, sizeof packed);
  if (s != status::ok) return s;
  l.found[slot] = found;
  if (l.asked == l.answered) owing_.push_back(server);
  ++l.asked;
  return status::ok;
}

void amo_client::take_replies(int server) noexcept {
  link& l = link_of(server);
  while (l.answered != l.asked) {
    const std::uint64_t slot = l.answered % amo_slots;
    const std::size_t at = static_cast<std::size_t>(server) * reply_bytes_a_peer + slot * sizeof(reply_cell);
    std::uint64_t value = 0;
    if (!reinterpret_cast<reply_cell*>(replies_.at(at))->unpack(turn_of(l.answered, amo_slots), value)) return;
    std::memcpy(l.found[slot], &value, sizeof value);
    ++l.answered;
  }
}

void amo_client::take_replies() noexcept {
  std::erase_if(owing_, [this](int server) {
    take_replies(server);
    return link_of(server).answered == link_of(server).asked;
  });
}

status amo_client::health(int server) noexcept { return over_.flush(link_of(server).endpoint); }

}  // namespace tobi::transports::soft
