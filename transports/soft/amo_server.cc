// SPDX-License-Identifier: Apache-2.0
#include "transports/soft/amo_server.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "libcore/base/log.hpp"

namespace tobi::transports::soft {

amo_server::amo_server(board& on, const amo_places& places, int rank, int size, served_memory& memory)
    : board_(on), places_(places), rank_(rank), size_(size), memory_(memory), served_(static_cast<std::size_t>(size)) {}

std::uint64_t amo_server::execute(const amo_request& r) noexcept {
  if (r.kind == stores_bytes) return store(r);
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

// Byte by byte: the target's CPU may store next to them.
std::uint64_t amo_server::store(const amo_request& r) noexcept {
  const std::uint64_t count = r.expected;
  if (count > sizeof r.operand) return 0;
  std::byte* at = memory_.at(static_cast<int>(r.target), r.region, r.offset, count);
  for (std::uint64_t i = 0; at != nullptr && i < count; ++i) {
    std::atomic_ref(at[i]).store(static_cast<std::byte>(r.operand >> 8 * i), std::memory_order_release);
  }
  return 0;
}

bool amo_server::send(const reply& r) noexcept {
  const auto packed = reply_cell::pack(r.value, turn_of(r.index, amo_slots));
  const status s = board_.write(r.client, places_.reply(rank_, r.index), &packed, sizeof packed, announced::quiet);
  if (s == status::domain_lost) fabric_is_gone("it cannot reply to rank " + std::to_string(r.client));
  return s != status::again;  // a client that is lost needs no reply
}

void amo_server::fabric_is_gone(const std::string& what) {
  base::fatal("the server of atomics is without a network (" + what + ": domain_lost); the job ends.");
}

bool amo_server::look(int client) noexcept {
  const std::uint64_t* known = served_.find(client);
  std::uint64_t index = known == nullptr ? 0 : *known;
  bool any = false;
  for (;; ++index, any = true) {
    auto* cell = reinterpret_cast<request_cell*>(board_.at(places_.request(client, index)));
    amo_request request;
    if (!cell->unpack(turn_of(index, amo_slots), request)) break;
    const reply r{client, index, execute(request)};
    if (!send(r)) waiting_.push_back(r);
  }
  if (any) served_.of(client) = index;
  return any;
}

bool amo_server::serve() noexcept {
  // A client that the fabric cannot reach just now holds up its own replies alone: a server may have those of a node.
  bool any = !waiting_.empty();
  if (any) std::erase_if(waiting_, [this](const reply& r) { return send(r); });
  if (board_.announces()) return any;
  for (int looks = std::min(size_, looks_per_poll); looks > 0; --looks) {
    any = look(next_) || any;
    next_ = next_ + 1 < size_ ? next_ + 1 : 0;
  }
  return any;
}

}  // namespace tobi::transports::soft
