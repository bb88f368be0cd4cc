// SPDX-License-Identifier: Apache-2.0
// verbs: the operations.
#include <cstring>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "transports/cpu_ops.hpp"
#include "transports/verbs/verbs.hpp"

namespace tobi::transports::verbs {

namespace {

bool is_atomic(const op& o) noexcept { return o.kind == op_kind::fetch_add || o.kind == op_kind::compare_swap; }

}  // namespace

status verbs_transport::check(int rank, std::span<const op> ops) const noexcept {
  if (rank < 0 || rank >= size_ || ops.empty() || ops.size() > chain_most) return status::invalid;
  for (const op& o : ops) {
    if (is_atomic(o) && !caps_.fetch_add) return status::unsupported;
    if (o.region >= regions_.size()) return status::invalid;
    const region& r = regions_[o.region];
    if (r.rank != rank || !in_range(o, r.bytes, caps_.put_max)) return status::invalid;
  }
  return wireup_->health();
}

status verbs_transport::post_as(int rank, std::span<const op> ops, bool in_order) noexcept {
  if (const status s = check(rank, ops); s != status::ok) return s;
  if (rank == rank_) {
    // Data of one's own is the CPU's to move. A chain with an atomic goes through the device as a whole.
    bool atomic = false;
    for (const op& o : ops) atomic = atomic || is_atomic(o);
    if (!atomic || caps_.scope == amo_scope::host) {
      execute_whole(ops, [this](region_id id) { return reinterpret_cast<std::byte*>(regions_[id].base); });
      return status::ok;
    }
  }
  link& l = link_of(rank);
  if (!l.ready || l.health != status::ok) [[unlikely]] {
    if (const status s = need_link(rank, l); s != status::ok) return s;
  }
  l.last_use = ++uses_;
  return send_chain(rank, l, ops, in_order, nullptr);
}

const verbs_transport::own_region* verbs_transport::registered(const void* at, std::size_t bytes) const noexcept {
  const auto* from = static_cast<const std::byte*>(at);
  for (const own_region& o : own_) {
    if (from >= o.base && from + bytes <= o.base + o.bytes) return &o;
  }
  return nullptr;
}

// One work request. False: its memory cannot be registered for as long as it lasts.
bool verbs_transport::fill(const op& o, std::size_t index, chain& c, ibv_send_wr& wr, ibv_sge& at) noexcept {
  const region& r = regions_[o.region];
  std::byte* slot = c.slots + index * slot_bytes;
  const std::uint64_t remote = r.base + o.remote;
  const std::uint64_t bytes = is_atomic(o) ? word_bytes : o.bytes;
  wr.num_sge = bytes == 0 ? 0 : 1;
  wr.sg_list = &at;
  at = {reinterpret_cast<std::uint64_t>(slot), static_cast<std::uint32_t>(bytes), slot_mr_->lkey};
  if (is_atomic(o)) {
    const bool add = o.kind == op_kind::fetch_add;
    wr.opcode = add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
    wr.wr.atomic = {remote, add ? o.operand : o.expected, add ? 0 : o.operand, r.rkey};
    c.copied[c.copies++] = {o.local, slot, word_bytes};
    return true;
  }
  const bool put = o.kind == op_kind::put;
  wr.opcode = put ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
  wr.wr.rdma = {remote, r.rkey};
  if (put) {
    if (o.bytes <= inline_bytes_) {
      wr.send_flags |= IBV_SEND_INLINE;
      at.addr = reinterpret_cast<std::uint64_t>(o.local);
      return true;
    }
    if (o.bytes <= small_bytes) {
      std::memcpy(slot, o.local, o.bytes);
      return true;
    }
  }
  if (const own_region* mine = registered(o.local, bytes); mine != nullptr) {
    at.addr = reinterpret_cast<std::uint64_t>(o.local);
    at.lkey = mine->mr->lkey;
    return true;
  }
  if (bytes <= slot_bytes) {
    if (put) {
      std::memcpy(slot, o.local, bytes);
    } else {
      c.copied[c.copies++] = {o.local, slot, static_cast<std::uint32_t>(bytes)};
    }
    return true;
  }
  ibv_mr* lasting = libibverbs().reg_mr(pd_.get(), o.local, bytes, IBV_ACCESS_LOCAL_WRITE);
  if (lasting == nullptr) return false;
  c.temporary[c.temporaries++] = lasting;
  at.addr = reinterpret_cast<std::uint64_t>(o.local);
  at.lkey = lasting->lkey;
  return true;
}

bool verbs_transport::has_room(const link& l, std::size_t requests) const noexcept {
  return free_ != nullptr && l.pending_requests + requests <= queue_depth &&
         requests_ + stale_requests_ + requests <= static_cast<std::size_t>(send_cq_->cqe);
}

status verbs_transport::send_chain(int rank, link& l, std::span<const op> ops, bool in_order,
                                   const std::uint32_t* immediate) noexcept {
  if (!has_room(l, ops.size())) {
    take_completions();
    if (l.health != status::ok) return l.health;
    if (!has_room(l, ops.size())) return status::again;
  }
  chain& c = *free_;
  free_ = c.next_free;
  c.peer = rank;
  c.requests = static_cast<std::uint32_t>(ops.size());
  ibv_send_wr wr[chain_most];
  ibv_sge at[chain_most];
  bool read_before = false;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    wr[i] = {};
    if (!fill(ops[i], i, c, wr[i], at[i])) {
      give_back(c);
      base::log(base::log_level::error, "verbs: memory of an operation cannot be registered (" +
                                            std::string(std::strerror(errno)) +
                                            "); type \"ulimit -l unlimited\" before the program.");
      return status::domain_lost;
    }
    wr[i].wr_id = static_cast<std::uint64_t>(&c - chains_.data()) << 32 | c.generation;
    // A WRITE keeps behind the WRITEs of its queue pair, and may pass a READ or an atomic: where an ordered chain has
    // one before it, it must wait (for all of its connection), and what is behind it waits with it.
    if (ops[i].kind != op_kind::put) {
      read_before = true;
    } else if (in_order && read_before) {
      wr[i].send_flags |= IBV_SEND_FENCE;
      read_before = false;
    }
    wr[i].next = i + 1 < ops.size() ? &wr[i + 1] : nullptr;
  }
  ibv_send_wr& last = wr[ops.size() - 1];
  last.send_flags |= IBV_SEND_SIGNALED;
  if (immediate != nullptr) {
    last.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    last.imm_data = *immediate;
  }
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(l.qp.get(), wr, &bad);
  if (error == 0) {
    ++l.pending_chains;
    l.pending_requests += c.requests;
    requests_ += c.requests;
    l.used = true;
    l.refused_ns = 0;
    return status::ok;
  }
  if (error == ENOMEM && bad == wr) {
    give_back(c);
    take_completions();
    return l.health != status::ok ? l.health : refused(rank, l);
  }
  // A part of the chain may be under way.
  return lose(rank, "an operation to rank " + std::to_string(rank) + " was refused by " + device_.name + " (" +
                        std::strerror(error) + ").");
}

// The send queue is full, says the device. With nothing under way no completion will empty it.
status verbs_transport::refused(int rank, link& l) noexcept {
  const std::uint64_t now = arch::now_ns();
  if (l.pending_chains != 0 || l.refused_ns == 0) l.refused_ns = now;
  if (now - l.refused_ns < full_and_empty_ns) return status::again;
  return lose(rank, "the send queue to rank " + std::to_string(rank) + " on " + device_.name +
                        " is empty and has been refusing operations for " +
                        std::to_string(full_and_empty_ns / 1'000'000'000) + " seconds (" + std::strerror(ENOMEM) +
                        "); lower TOBI_VERBS_CONNECTIONS.");
}

void verbs_transport::give_back(chain& c) noexcept {
  for (std::uint32_t i = 0; i < c.temporaries; ++i) libibverbs().dereg_mr(c.temporary[i]);
  c.temporaries = 0;
  c.copies = 0;
  c.peer = -1;
  ++c.generation;
  c.next_free = free_;
  free_ = &c;
}

void verbs_transport::complete(const ibv_wc& done) noexcept {
  chain& c = chains_[done.wr_id >> 32];
  // Each request of a queue pair in error comes back, signaled or not; the first one has ended the connection.
  if (c.generation != static_cast<std::uint32_t>(done.wr_id)) return;
  if (done.status != IBV_WC_SUCCESS) {
    lose(c.peer, why_failed(c.peer, done));
    return;
  }
  link& l = link_of(c.peer);
  // In the order of the calls: the chains before this one on its queue pair have completed too.
  for (std::uint32_t i = 0; i < c.copies; ++i) std::memcpy(c.copied[i].to, c.copied[i].from, c.copied[i].bytes);
  --l.pending_chains;
  l.pending_requests -= c.requests;
  requests_ -= c.requests;
  give_back(c);
}

std::string verbs_transport::why_failed(int rank, const ibv_wc& done) const {
  const std::string peer = base::name_of_rank(rank);
  const std::string code = " (" + std::string(libibverbs().wc_status_str(done.status)) + ", vendor code " +
                           std::to_string(done.vendor_err) + ")";
  ibv_port_attr port;
  const bool down = !query_port(device_.device.get(), device_.port, port) || port.state != IBV_PORT_ACTIVE;
  const std::string here = device_.name + " port " + std::to_string(device_.port) + (down ? ", which is down" : "");
  switch (done.status) {
    case IBV_WC_RETRY_EXC_ERR:
      return peer + " does not respond on " + here + code + ": it has ended, or the network between is cut.";
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
      return peer + " refused an operation of " + here + code + ": the memory is no longer registered there.";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return peer + " takes no messages from " + here + code + ": it is stopped, or its device has no receives.";
    default:
      return "an operation to " + peer + " failed on " + here + code + ".";
  }
}

// The connection ends, and everything that was under way on it. Once its queue pair is gone the device looks at none of
// the buffers, so the chains are free again.
status verbs_transport::lose(int rank, const std::string& why) noexcept {
  base::log(base::log_level::error, "verbs: " + why);
  link& l = link_of(rank);
  close_qp(rank, l);
  l.health = status::peer_lost;
  for (chain& c : chains_) {
    if (c.peer != rank) continue;
    requests_ -= c.requests;
    stale_requests_ += c.requests;
    give_back(c);
  }
  return l.health;
}

void verbs_transport::progress() noexcept {
  take_completions();
  if (wireup_->asked_to_leave()) [[unlikely]] {
    leave_where_asked();
  }
}

void verbs_transport::take_completions() noexcept {
  ibv_wc done[16];
  for (;;) {
    const int n = ibv_poll_cq(send_cq_.get(), static_cast<int>(std::size(done)), done);
    if (n < 0) [[unlikely]] {
      wireup_->lose_device("its completion queue cannot be read");
      return;
    }
    for (int i = 0; i < n; ++i) complete(done[i]);
    if (n < static_cast<int>(std::size(done))) break;
  }
  stale_requests_ = 0;  // the queue was empty, and their queue pairs are gone
}

status verbs_transport::flush(int rank) noexcept {
  if (rank < 0 || rank >= size_) return status::invalid;
  take_completions();
  if (const status s = wireup_->health(); s != status::ok) return s;
  const link* l = links_.find(rank);
  if (l == nullptr) return status::ok;
  if (l->health != status::ok) return l->health;
  return l->pending_chains == 0 ? status::ok : status::again;
}

status verbs_transport::put_notify(int rank, const op& o, std::uint64_t data) noexcept {
  if (o.kind != op_kind::put || data > ~std::uint32_t{0}) return status::invalid;
  if (const status s = check(rank, {&o, 1}); s != status::ok) return s;
  link& l = link_of(rank);
  if (const status s = need_link(rank, l); s != status::ok) return s;
  const auto immediate = static_cast<std::uint32_t>(data);
  return send_chain(rank, l, {&o, 1}, true, &immediate);
}

bool verbs_transport::receive_notice() noexcept {
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  return ibv_post_srq_recv(srq_.get(), &wr, &bad) == 0;
}

// One for a notice that was taken, and those that were refused before: without receives the peers would wait for ever.
void verbs_transport::receive_again() noexcept {
  while (owed_ != 0 && receive_notice()) --owed_;
  if (owed_ == notice_receives) wireup_->lose_device("it takes no receives for messages");
}

bool verbs_transport::next_notice(notice& n) noexcept {
  ibv_wc done;
  int found = 0;
  while ((found = ibv_poll_cq(notice_cq_.get(), 1, &done)) == 1) {
    if (done.status == IBV_WC_SUCCESS) {
      n = {wireup_->sender_of(done.qp_num), done.imm_data};
      return true;
    }
    ++owed_;
    receive_again();
  }
  if (found < 0) [[unlikely]] {
    wireup_->lose_device("its completion queue of messages cannot be read");
  }
  return false;
}

status verbs_transport::poll_notice(notice& n) noexcept {
  {
    const std::lock_guard hold(notices_);
    const bool kept = !arrived_.empty();
    if (kept) [[unlikely]] {
      n = arrived_.front();
      arrived_.pop_front();
    }
    const bool any = kept || next_notice(n);
    if (any) ++owed_;
    receive_again();
    if (any) return status::ok;
  }
  progress();  // not with the lock: it may close a connection, and wireup's thread may just be taking notices
  const status s = wireup_->health();
  return s == status::ok ? status::again : s;
}

// The notices of a queue pair go with it, and its number no longer tells which rank sent them: they are taken out
// first. There are never more of them than receives.
void verbs_transport::keep_notices() noexcept {
  const std::lock_guard hold(notices_);
  for (notice n; next_notice(n);) arrived_.push_back(n);
}

}  // namespace tobi::transports::verbs
