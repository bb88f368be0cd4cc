// SPDX-License-Identifier: Apache-2.0
// utofu: the operations.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "libcore/base/log.hpp"
#include "transports/cpu_ops.hpp"
#include "transports/utofu/utofu.hpp"

namespace tobi::transports::utofu {

namespace {

constexpr unsigned long told = flag::tcq_notice | flag::local_mrq_notice;

bool is_atomic(const op& o) noexcept { return o.kind == op_kind::fetch_add || o.kind == op_kind::compare_swap; }
bool is_write(const op& o) noexcept { return o.kind != op_kind::get; }

}  // namespace

status utofu_transport::check(int rank, std::span<const op> ops) const noexcept {
  if (rank < 0 || rank >= size_ || ops.empty() || ops.size() > chain_most) return status::invalid;
  for (const op& o : ops) {
    if (is_atomic(o) && !caps_.fetch_add) return status::unsupported;
    if (o.region >= regions_.size()) return status::invalid;
    const region& r = regions_[o.region];
    if (r.rank != rank || !in_range(o, r.bytes, caps_.put_max)) return status::invalid;
    const bool whole = (r.at + o.remote) % granule_ == 0 && o.bytes % granule_ == 0;
    if (o.kind == op_kind::put && rank != rank_ && !whole) return status::invalid;
  }
  return health_;
}

std::uint32_t utofu_transport::requests_of(const op& o) const noexcept {
  return is_atomic(o) ? 1 : static_cast<std::uint32_t>((o.bytes + piece_bytes_ - 1) / piece_bytes_);
}

status utofu_transport::post(int rank, std::span<const op> ops) noexcept {
  if (const status s = check(rank, ops); s != status::ok) return s;
  // Data of one's own is the CPU's to move. A chain with an atomic goes through the device as a whole.
  if (rank == rank_ && std::none_of(ops.begin(), ops.end(), is_atomic)) {
    execute_whole(ops, [this](region_id id) { return regions_[id].here; });
    return status::ok;
  }
  link& l = links_.of(rank);
  if (l.health != status::ok) return l.health;
  std::uint32_t need = 0;
  for (const op& o : ops) need += requests_of(o);
  if (need == 0) return status::ok;
  if (free_chain_ == nullptr || free_requests_ < reserved_ + need) {
    progress();
    if (l.health != status::ok) return l.health;
    if (free_chain_ == nullptr || free_requests_ < reserved_ + need)
      return health_ == status::ok ? status::again : health_;
  }
  chain& c = *free_chain_;
  c.count = 0;
  for (const op& o : ops) {
    if (requests_of(o) == 0) continue;  // of no bytes
    op& mine = c.ops[c.count] = o;
    if (o.kind == op_kind::put && o.bytes <= inline_bytes) {
      std::memcpy(c.inlined[c.count].data(), o.local, o.bytes);
      mine.local = c.inlined[c.count].data();
    }
    ++c.count;
  }
  c.peer = rank;
  c.next = c.reads = c.writes = c.leaving = 0;
  c.reserved = need;
  reserved_ += need;
  if (const status s = advance(c); s != status::ok) {
    reserved_ -= need;
    return s;
  }
  free_chain_ = c.next_free;
  ++l.chains;
  c.begun = c.next < c.count;
  if (c.begun) begun_.push_back(&c);
  return status::ok;
}

// --- a chain, in one stage or several --------------------------------------------------------------------

bool utofu_transport::may_go(const chain& c, std::uint32_t index, const stage& s) const noexcept {
  const op& o = c.ops[index];
  if (s.count != 0 && s.count + requests_of(o) > stage_most_) return false;
  if (order_ == trusted_order::all) return true;
  return is_write(o) ? c.reads + s.reads == 0 : c.writes + s.writes == 0;
}

// Posts what may go of C, all of it or nothing. ok too where nothing may.
status utofu_transport::advance(chain& c) noexcept {
  stage s;
  for (std::uint32_t i = c.next; i < c.count && may_go(c, i, s); ++i) {
    if (!add(c, i, s)) {
      undo(s);
      return status::again;
    }
    ++s.ops;
  }
  if (s.count == 0) return status::ok;
  int got = lib_.post_toq(vcq_, s.descriptors.data(), s.bytes, &c);
  if (got == code::busy) {
    take_tcq();
    got = lib_.post_toq(vcq_, s.descriptors.data(), s.bytes, &c);
  }
  if (got != code::success) {
    const bool idle = free_requests_ + s.count == requests_most;
    undo(s);
    if (got != code::busy) {
      lose_domain("posts nothing", got);
      return health_;
    }
    if (idle && s.ops > 1) stage_most_ = std::max(1u, s.count / 2);  // a TOQ of fewer entries than that
    return status::again;
  }
  c.next += s.ops;
  c.reads += s.reads;
  c.writes += s.writes;
  c.leaving += s.count;
  c.reserved -= s.count;
  reserved_ -= s.count;
  return status::ok;
}

// The requests of one operation. False: its memory cannot be registered now.
bool utofu_transport::add(chain& c, std::uint32_t index, stage& s) noexcept {
  const op& o = c.ops[index];
  const std::uint32_t count = requests_of(o);
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint8_t edata = free_request_;
    request& r = requests_[edata];
    free_request_ = r.next_free;
    --free_requests_;
    r.of = &c;
    r.op = static_cast<std::uint8_t>(index);
    s.requests[s.count++] = edata;
    const std::uint64_t from = k * piece_bytes_;
    const piece p{static_cast<std::byte*>(o.local) + from, regions_[o.region].at + o.remote + from,
                  std::min(o.bytes - from, piece_bytes_)};
    const bool ordered = index > 0 && (is_write(o) || order_ == trusted_order::all);
    std::size_t bytes = 0;
    const int got =
        prepare(c, o, r, edata, p, told | (ordered ? flag::strong_order : 0ul), s.descriptors.data() + s.bytes, &bytes);
    if (got != code::success) return false;
    s.bytes += bytes;
    ++(is_write(o) ? s.writes : s.reads);
  }
  return true;
}

int utofu_transport::prepare(const chain& c, const op& o, request& r, std::uint8_t edata, const piece& p,
                             unsigned long flags, std::byte* desc, std::size_t* bytes) noexcept {
  const vcq_id to = peers_[c.peer];
  if (o.kind == op_kind::fetch_add) {
    return lib_.prepare_armw8(vcq_, to, armw_op::add, o.operand, p.remote, edata, flags, desc, bytes);
  }
  if (o.kind == op_kind::compare_swap) {
    return lib_.prepare_cswap8(vcq_, to, o.expected, o.operand, p.remote, edata, flags, desc, bytes);
  }
  stadd local = 0;
  if (o.kind == op_kind::put) {
    if (p.bytes <= device_.max_piggyback_size) {
      return lib_.prepare_put_piggyback(vcq_, to, p.local, p.remote, p.bytes, edata, flags, desc, bytes);
    }
    if (!find_local(o, r, edata, p, local)) return code::out_of_memory;
    return lib_.prepare_put(vcq_, to, local, p.remote, p.bytes, edata, flags, desc, bytes);
  }
  // Whole granules, of which what was asked for is copied.
  const stadd first = p.remote / granule_ * granule_;
  const stadd end = (p.remote + p.bytes + granule_ - 1) / granule_ * granule_;
  const piece whole{p.local, first, end - first};
  if (!find_local(o, r, edata, whole, local)) return code::out_of_memory;
  if (r.copy_from != nullptr) {
    r.copy_to = p.local;
    r.copy_from += p.remote - first;
    r.copy_bytes = p.bytes;
  }
  return lib_.prepare_get(vcq_, to, local, first, whole.bytes, edata, flags, desc, bytes);
}

// --- local memory of a request ---------------------------------------------------------------------------

const utofu_transport::own_region* utofu_transport::registered(const std::byte* at,
                                                               std::uint64_t bytes) const noexcept {
  for (const own_region& o : own_) {
    if (at >= o.base && at + bytes <= o.base + o.bytes) return &o;
  }
  return nullptr;
}

bool utofu_transport::register_for(request& r, std::byte* at, std::uint64_t bytes, stadd& local) noexcept {
  const int got = lib_.reg_mem(vcq_, at, bytes, 0, &local);
  if (got == code::success) {
    r.has_temporary = true;
    r.temporary = local;
    return true;
  }
  if (free_requests_ + 1 == requests_most) {  // nothing is under way whose end would make room
    base::fatal("utofu: " + base::format_size(bytes) + " of an operation cannot be registered (" + words_of(got) +
                "); free memory of this node, or lower TOBI_WORKERS.");
  }
  return false;
}

// In place where that can be; else through the request's slot, or memory of its own where that is too small.
bool utofu_transport::find_local(const op& o, request& r, std::uint8_t edata, const piece& p, stadd& local) noexcept {
  const bool aligned = granule_ == 1 || (reinterpret_cast<std::uintptr_t>(p.local) % granule_ == 0 &&
                                         p.bytes % granule_ == 0 && p.bytes <= o.bytes);
  if (aligned && o.bytes > inline_bytes) {
    if (const own_region* mine = registered(p.local, p.bytes); mine != nullptr) {
      local = mine->at + static_cast<std::uint64_t>(p.local - mine->base);
      return true;
    }
  }
  std::byte* through = slots_ + edata * slot_bytes;
  if (p.bytes <= slot_bytes) {
    local = slots_at_ + edata * slot_bytes;
  } else if (aligned) {
    return register_for(r, p.local, p.bytes, local);
  } else {
    const std::uint64_t room = (p.bytes + slot_bytes - 1) / slot_bytes * slot_bytes;
    r.bounce = through = static_cast<std::byte*>(std::aligned_alloc(slot_bytes, room));
    if (through == nullptr || !register_for(r, through, room, local)) return false;
  }
  if (o.kind == op_kind::put) {
    std::memcpy(through, p.local, p.bytes);
  } else {
    r.copy_from = through;
    r.copy_to = p.local;
    r.copy_bytes = p.bytes;
  }
  return true;
}

void utofu_transport::release(std::uint8_t edata) noexcept {
  request& r = requests_[edata];
  if (r.has_temporary) lib_.dereg_mem(vcq_, r.temporary, 0);
  std::free(r.bounce);
  r = request{};
  r.next_free = free_request_;
  free_request_ = edata;
  ++free_requests_;
}

void utofu_transport::undo(stage& s) noexcept {
  while (s.count > 0) release(s.requests[--s.count]);
}

// --- what comes back -------------------------------------------------------------------------------------

void utofu_transport::drop_rest(chain& c) noexcept {
  reserved_ -= c.reserved;
  c.reserved = 0;
  c.count = c.next;
}

void utofu_transport::settle(chain& c) noexcept {
  if (c.begun || c.next < c.count || c.reads + c.writes + c.leaving != 0) return;
  --links_.find(c.peer)->chains;
  c.peer = -1;
  c.next_free = free_chain_;
  free_chain_ = &c;
}

void utofu_transport::take_tcq() noexcept {
  for (;;) {
    void* of = nullptr;
    const int got = lib_.poll_tcq(vcq_, 0, &of);
    if (got == code::not_found) return;
    if (got != code::success) return lose_domain("could not send a request", got);
    auto& c = *static_cast<chain*>(of);
    --c.leaving;
    settle(c);
  }
}

void utofu_transport::take_mrq() noexcept {
  for (;;) {
    mrq_notice n;
    const int got = lib_.poll_mrq(vcq_, 0, &n);
    if (got == code::not_found) return;
    if (got != code::success && !is_of_mrq(got)) return lose_domain("cannot be polled", got);
    switch (static_cast<notice_type>(n.type)) {
      case notice_type::lcl_put:
      case notice_type::lcl_get:
      case notice_type::lcl_armw:
        ended(n, got);
        break;
      default:  // of a peer: some devices tell of each put that lands, and the MRQ must not fill
        break;
    }
  }
}

void utofu_transport::ended(const mrq_notice& n, int got) noexcept {
  const auto edata = static_cast<std::uint8_t>(n.edata);
  const request& r = requests_[edata];
  if (r.of == nullptr) return lose_domain("tells of a request that was not posted", got);
  chain& c = *r.of;
  const op& o = c.ops[r.op];
  --(is_write(o) ? c.writes : c.reads);
  if (got != code::success) {
    lose(c.peer, base::name_of_rank(c.peer) + " cannot be reached at " + place_of(peers_[c.peer]) + " (" +
                     words_of(got) + "): it has ended, its memory is no longer registered, or the network is cut.");
    drop_rest(c);
  } else if (is_atomic(o)) {
    std::memcpy(o.local, &n.rmt_value, word_bytes);
    if (o.guard && n.rmt_value != o.expected) drop_rest(c);  // nobody needs what follows
  } else if (r.copy_to != nullptr) {
    std::memcpy(r.copy_to, r.copy_from, r.copy_bytes);
  }
  release(edata);
  settle(c);
}

void utofu_transport::lose(int rank, const std::string& why) noexcept {
  link& l = links_.of(rank);
  if (l.health != status::ok) return;
  l.health = status::peer_lost;
  base::let_a_death_be_told();
  base::log(base::log_level::error, "utofu: " + why);
}

void utofu_transport::lose_domain(const std::string& what, int got) noexcept {
  if (health_ != status::ok) return;
  health_ = status::domain_lost;
  base::log(base::log_level::error, "utofu: the queue at " + place_of(id_) + " " + what + " (" + words_of(got) +
                                        "); the network of this worker is gone.");
}

// The later stages of chains, in the order in which they were begun.
void utofu_transport::go_on() noexcept {
  for (std::size_t i = 0; i < begun_.size();) {
    chain& c = *begun_[i];
    if (c.next < c.count) static_cast<void>(advance(c));
    if (c.next < c.count) {
      ++i;
      continue;
    }
    begun_.erase(begun_.begin() + static_cast<std::ptrdiff_t>(i));
    c.begun = false;
    settle(c);
  }
}

void utofu_transport::progress() noexcept {
  if (health_ != status::ok) return;
  take_tcq();
  take_mrq();
  if (!begun_.empty()) go_on();
}

status utofu_transport::flush(int rank) noexcept {
  if (rank < 0 || rank >= size_) return status::invalid;
  progress();
  if (health_ != status::ok) return health_;
  const link* l = links_.find(rank);
  if (l == nullptr) return status::ok;
  if (l->health != status::ok) return l->health;
  return l->chains == 0 ? status::ok : status::again;
}

}  // namespace tobi::transports::utofu
