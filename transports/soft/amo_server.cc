#include "transports/soft/amo_server.hpp"

#include <atomic>

namespace tobi::transports::soft {

amo_server::amo_server(transport& over, int rank, int size, served_memory& memory)
    : over_(over),
      memory_(memory),
      board_(over, static_cast<std::size_t>(size) * request_bytes_a_peer),
      peers_(static_cast<std::size_t>(size)),
      own_offset_(static_cast<std::size_t>(rank) * reply_bytes_a_peer) {
  waiting_.reserve(peers_.size() * amo_slots);
}

status amo_server::connect(int rank, int client, const region_key& replies) {
  peer& p = peers_[static_cast<std::size_t>(rank)];
  p.client = client;
  return over_.attach(client, replies, p.replies);
}

std::uint64_t amo_server::execute(const amo_request& r) noexcept {
  std::uint64_t* at = memory_.word(static_cast<int>(r.target), r.region, r.offset);
  if (at == nullptr) return 0;  // the initiator has checked its own bounds: the region is gone
  const std::atomic_ref word(*at);
  if (r.kind == static_cast<std::uint16_t>(op_kind::fetch_add)) {
    return word.fetch_add(r.operand, std::memory_order_acq_rel);
  }
  if (r.kind != static_cast<std::uint16_t>(op_kind::compare_swap)) return 0;
  std::uint64_t expected = r.expected;
  word.compare_exchange_strong(expected, r.operand, std::memory_order_acq_rel, std::memory_order_acquire);
  return expected;
}

bool amo_server::send(const reply& r) noexcept {
  const auto packed = reply_cell::pack(r.value, turn_of(r.index, amo_slots));
  const std::uint64_t at = own_offset_ + r.index % amo_slots * sizeof packed;
  // A client that is lost needs no reply.
  return over_.put(peers_[r.peer].client, peers_[r.peer].replies, at, &packed, sizeof packed) != status::again;
}

bool amo_server::serve() noexcept {
  // A client that the fabric cannot reach just now holds up its own replies alone: a server may have those of a node.
  bool any = !waiting_.empty();
  std::erase_if(waiting_, [this](const reply& r) { return send(r); });
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peer& p = peers_[i];
    for (;;) {
      auto* c = reinterpret_cast<request_cell*>(
          board_.at(i * request_bytes_a_peer + p.served % amo_slots * sizeof(request_cell)));
      amo_request request;
      if (!c->unpack(turn_of(p.served, amo_slots), request)) break;
      const reply r{i, p.served, execute(request)};
      ++p.served;
      any = true;
      if (!send(r)) waiting_.push_back(r);
    }
  }
  return any;
}

}  // namespace tobi::transports::soft
