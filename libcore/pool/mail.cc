// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/mail.hpp"

#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "libcore/base/log.hpp"

namespace tobi::pool {

namespace {

using message = transports::soft::active_messages::message;

enum handlers : std::uint8_t { request_handler, delivery_handler };

template <class Message>
Message unpack(std::span<const std::byte> payload) {
  Message m{};
  std::memcpy(&m, payload.data(), std::min(payload.size(), sizeof m));
  return m;
}

}  // namespace

mail::mail(net::fabric& net) : net_(net), messages_(net.transport(), net.rank(), net.size()) {
  messages_.on(request_handler, [this](int from, std::span<const std::byte> payload) -> std::optional<message> {
    const auto what = unpack<request>(payload);
    if (reader_of(what.collection, from).asked(from, what)) return std::nullopt;
    const delivery none{what.collection, 0};
    return message(delivery_handler, std::as_bytes(std::span(&none, 1)));
  });
  messages_.on(delivery_handler, [this](int from, std::span<const std::byte> payload) -> std::optional<message> {
    const auto what = unpack<delivery>(payload);
    reader_of(what.collection, from).delivered(what.count);
    return std::nullopt;
  });
}

mail::reader& mail::reader_of(std::uint32_t collection, int from) {
  if (collection >= readers_.size() || readers_[collection] == nullptr) {
    base::fatal("a message of rank " + std::to_string(from) + " is for task collection " + std::to_string(collection) +
                ", which this worker does not have.");
  }
  return *readers_[collection];
}

template <class Message>
bool mail::send_as(int rank, std::uint8_t handler, const Message& what, const char* doing) {
  const status s = messages_.send(rank, handler, std::as_bytes(std::span(&what, 1)));
  if (s == status::ok) return true;
  if (s == status::again) return false;
  net_.lost(rank, s, doing);
}

bool mail::send(int rank, const request& what) { return send_as(rank, request_handler, what, "asking it for tasks"); }
bool mail::send(int rank, const delivery& what) { return send_as(rank, delivery_handler, what, "telling it of tasks"); }

}  // namespace tobi::pool
