// SPDX-License-Identifier: Apache-2.0
#include "libcore/deque/incoming_image.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tobi::deque {

using transports::op;

void incoming_image::start(net::fabric& net, image_room& room) noexcept {
  net_ = &net;
  room_ = &room;
  here_ = net::location{};
}

// The guess may reach beyond the object, but not beyond the region, nor the part of it that is registered by itself.
std::uint64_t incoming_image::guess(net::location where) {
  return std::min<std::uint64_t>(sizeof room_->bytes, net_->heaps().readable(where));
}

bool incoming_image::is_worth_asking(net::location where) {
  return !net_->is_local(where) && net_->mapped(where.rank()) == nullptr;
}

op incoming_image::ask(net::location where) {
  return op::get(net_->heap(where.rank()), where.offset(), room_->bytes, guess(where));
}

image incoming_image::head(net::location where) {
  image head;
  if (here_ != where && !is_worth_asking(where)) {
    net_->get(where, &head, sizeof head);
    return head;
  }
  if (here_ != where) {
    const op both = ask(where);
    net_->post(where.rank(), {&both, 1});
    net_->complete(where.rank());
    came(where);
  }
  std::memcpy(&head, room_->bytes, sizeof head);
  return head;
}

void incoming_image::frames(net::location where, const image& head) {
  auto* to = reinterpret_cast<std::byte*>(head.sp);
  std::uint64_t have = 0;
  if (std::exchange(here_, net::location{}) == where) {
    have = std::min(head.bytes, guess(where) - sizeof head);
    std::memcpy(to, room_->bytes + sizeof head, have);
  }
  if (have == head.bytes) return;
  net_->get({where.rank(), where.offset() + sizeof head + have}, to + have, head.bytes - have);
}

}  // namespace tobi::deque
