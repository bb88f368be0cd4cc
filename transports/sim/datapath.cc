// SPDX-License-Identifier: Apache-2.0
// sim: the queues. Time is counted in steps, one per call; what a chain does when its step has come is in nic.cc.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transports/cpu_ops.hpp"
#include "transports/sim/sim.hpp"

namespace tobi::transports::sim {

namespace {

constexpr int poison = 0xa5;                 // what a get's buffer holds until it is filled
constexpr std::uint64_t look_every = 256;    // steps between two looks at whether a peer lives
constexpr std::uint32_t patience = 64;       // flushes in vain before the core is given to the worker that we wait for
constexpr std::uint32_t most_steps = 64;     // in one call
constexpr std::uint64_t refuse_one_in = 32;  // of posts, although there is room
constexpr std::uint64_t at_once_one_in = 4;  // of chains
constexpr std::uint64_t late_one_in = 16;    // of delays is much longer than usual
constexpr std::uint64_t yield_one_in = 64;   // polls
constexpr std::uint64_t late_times = 16;
constexpr std::uint64_t clogged_steps = 1'000;  // at most

bool is_atomic(const op& o) noexcept { return o.kind == op_kind::fetch_add || o.kind == op_kind::compare_swap; }

}  // namespace

std::uint64_t sim_transport::delay() noexcept {
  const std::uint64_t usual = rng_.uniform(std::uint64_t{modes_.delay} + 1);
  return rng_.uniform(late_one_in) == 0 ? usual * late_times : usual;
}

status sim_transport::post(int rank, std::span<const op> ops) noexcept { return enqueue(rank, ops, kind::ordered, 0); }

status sim_transport::post_unordered(int rank, std::span<const op> ops) noexcept {
  return enqueue(rank, ops, kind::unordered, 0);
}

status sim_transport::put_notify(int rank, const op& put, std::uint64_t data) noexcept {
  return put.kind == op_kind::put ? enqueue(rank, {&put, 1}, kind::notifying, data) : status::invalid;
}

status sim_transport::enqueue(int rank, std::span<const op> ops, kind of, std::uint64_t data) noexcept {
  if (rank < 0 || rank >= size_ || ops.empty() || ops.size() > caps_.chain_max) return status::invalid;
  for (const op& o : ops) {
    if (is_atomic(o) && !modes_.atomics) return status::unsupported;
    const peer_memory::region* r = memory_.find(rank, o.region);
    if (r == nullptr || !in_range(o, r->bytes, caps_.put_max)) return status::invalid;
  }
  link& l = to(rank);
  step();
  if (l.lost || (now_ - l.looked_at >= look_every && !alive(l))) return status::peer_lost;
  if (l.queue.size() >= modes_.depth || rng_.uniform(refuse_one_in) == 0) return status::again;

  if (spare_.empty()) spare_.push_back(std::make_unique<chain>());
  chain_pointer c = std::move(spare_.back());
  spare_.pop_back();
  c->count = static_cast<std::uint32_t>(ops.size());
  c->next = 0;
  c->moving = cursor{};
  c->notifies = of == kind::notifying;
  c->data = data;
  // Acquire: the target's looks at its memory before it polled lie before what we do there.
  c->polled_at = l.nic->polled.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < c->count; ++i) {
    op& o = c->ops[i] = ops[i];
    c->remote[i] = memory_.base(o.region) + o.remote;
    if (is_atomic(o)) {
      std::memset(o.local, poison, word_bytes);
    } else if (o.kind == op_kind::get) {
      std::memset(o.local, poison, o.bytes);
    } else if (o.bytes <= inline_limit) {
      std::memcpy(c->inlined[i], o.local, o.bytes);
      o.local = c->inlined[i];
    }
  }
  if (of == kind::unordered) {
    shuffle(*c);
  } else {
    reorder_gets(*c);
  }
  c->due = rng_.uniform(at_once_one_in) == 0 ? now_ : now_ + 1 + delay();
  if (modes_.clog != 0 && rng_.uniform(modes_.clog) == 0) l.clogged_until = now_ + rng_.uniform(clogged_steps);
  if (l.queue.empty()) busy_.push_back(rank);
  l.queue.push_back(std::move(c));
  step();
  return status::ok;
}

// A device that has both requests may read memory for the later one first.
void sim_transport::reorder_gets(chain& c) noexcept {
  for (std::uint32_t i = 1; !modes_.ordered_gets && i < c.count; ++i) {
    if (c.ops[i - 1].kind != op_kind::get || c.ops[i].kind != op_kind::get || rng_.uniform(2) == 0) continue;
    std::swap(c.ops[i - 1], c.ops[i]);
    std::swap(c.remote[i - 1], c.remote[i]);
  }
}

// Nobody asked for an order.
void sim_transport::shuffle(chain& c) noexcept {
  for (std::uint32_t left = c.count; left > 1; --left) {
    const auto other = static_cast<std::uint32_t>(rng_.uniform(left));
    std::swap(c.ops[left - 1], c.ops[other]);
    std::swap(c.remote[left - 1], c.remote[other]);
  }
}

// One step of everything that is queued. The queues are looked at from a random place on, so that none is favoured.
void sim_transport::step() noexcept {
  ++now_;
  for (std::size_t b = 0; b < busy_.size();) {
    const int rank = busy_[b];
    link& l = to(rank);
    const std::size_t waiting = l.queue.size();
    const std::size_t first = modes_.overtaking && waiting > 1 ? rng_.uniform(waiting) : 0;
    for (std::size_t i = 0; i < waiting && !l.lost && now_ >= l.clogged_until; ++i) {
      chain& c = *l.queue[(first + i) % waiting];
      if (c.due <= now_) run(l, c);
      if (!modes_.overtaking && c.next < c.count) break;
    }
    std::erase_if(l.queue, [this, &l](chain_pointer& c) {
      if (c->next < c->count && !l.lost) return false;
      spare_.push_back(std::move(c));
      return true;
    });
    if (l.queue.empty()) {
      busy_[b] = busy_.back();
      busy_.pop_back();
    } else {
      ++b;
    }
  }
}

void sim_transport::run(link& l, chain& c) noexcept {
  while (c.next < c.count) {
    const bool needs_target = is_atomic(c.ops[c.next]) ? modes_.manual_amo : modes_.manual_rma;
    if (needs_target && l.nic->polled.load(std::memory_order_acquire) == c.polled_at) return;
    if (!execute(l, c) || (c.next < c.count && rng_.uniform(2) == 0)) {
      c.due = now_ + 1 + delay() / 2;
      return;
    }
  }
}

void sim_transport::poll() noexcept {
  nic_->polled.fetch_add(1, std::memory_order_acq_rel);
  // Where workers share a core, others should come in the middle of what we do, not only when we idle.
  if (rng_.uniform(yield_one_in) == 0) sched_yield();
  step();
}

void sim_transport::progress() noexcept { poll(); }

status sim_transport::flush(int rank) noexcept {
  if (rank < 0 || rank >= size_) return status::invalid;
  link& l = to(rank);
  poll();
  if (!l.lost && now_ - l.looked_at >= look_every) (void)alive(l);
  if (l.lost) return status::peer_lost;
  if (l.queue.empty()) {
    l.waited = 0;
    return status::ok;
  }
  if (++l.waited % patience == 0) sched_yield();
  // A worker that has waited for long sleeps between its calls, and time is counted in calls.
  for (std::uint32_t more = std::min(l.waited / patience, most_steps); more > 0 && !l.queue.empty(); --more) step();
  return status::again;
}

status sim_transport::poll_notice(notice& got) noexcept {
  poll();
  link& own = to(rank_);
  if (!take_lock(own)) return status::again;
  const bool any = nic_->taken != nic_->given;
  if (any) got = nic_->inbox[nic_->taken++ % nic_page::slots];
  nic_->lock.store(0, std::memory_order_release);
  return any ? status::ok : status::again;
}

}  // namespace tobi::transports::sim
