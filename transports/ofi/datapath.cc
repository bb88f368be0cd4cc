// SPDX-License-Identifier: Apache-2.0
// ofi: the operations. Every one asks for a completion that means delivered.
#include <algorithm>
#include <cstring>
#include <utility>

#include "libcore/base/log.hpp"
#include "transports/cpu_ops.hpp"
#include "transports/ofi/ofi.hpp"
#include "transports/ofi/sockets.hpp"

namespace tobi::transports::ofi {

status ofi_transport::check(int rank, const op& o) const noexcept {
  if (rank < 0 || rank >= size_) return status::invalid;
  if ((o.kind == op_kind::fetch_add && !caps_.fetch_add) || (o.kind == op_kind::compare_swap && !caps_.compare_swap)) {
    return status::unsupported;
  }
  if (o.region >= regions_.size()) return status::invalid;
  const region& r = regions_[o.region];
  return r.rank == rank && in_range(o, r.bytes, caps_.put_max) ? domain_health_ : status::invalid;
}

// A peer's name is given to the provider when it is first used: what the provider keeps of it is more than the name.
status ofi_transport::find(int rank, peer& p) noexcept {
  const char* name = names_.data() + static_cast<std::size_t>(rank) * name_bytes_;
  if (fi_av_insert(av_.get(), name, 1, &p.address, 0, nullptr) == 1) return status::ok;
  base::log(base::log_level::error, "ofi: provider " + std::string(info_->fabric_attr->prov_name) +
                                        " does not take the address of " + base::name_of_rank(rank) + ".");
  p.address = FI_ADDR_UNSPEC;
  return p.health = status::peer_lost;
}

status ofi_transport::post(int rank, std::span<const op> ops) noexcept {
  if (ops.size() != 1) return status::invalid;
  const op& o = ops[0];
  if (const status s = check(rank, o); s != status::ok) return s;
  const region& r = regions_[o.region];
  peer& p = peers_.of(rank);
  if (p.health != status::ok) return p.health;

  const bool data = o.kind == op_kind::put || o.kind == op_kind::get;
  if (data && (o.bytes == 0 || r.here != nullptr)) {  // this process's own memory: nothing to send
    if (o.bytes != 0) execute_whole(ops, [&](region_id) { return r.here; });
    return status::ok;
  }
  return post_one(p, o, r);
}

status ofi_transport::put_notify(int rank, const op& o, std::uint64_t data) noexcept {
  if (!caps_.put_notify) return status::unsupported;
  if (o.kind != op_kind::put || (caps_.msg_max < sizeof data && data >> 8 * caps_.msg_max != 0)) return status::invalid;
  return notify(rank, o, data << 8 * rank_bytes | static_cast<std::uint64_t>(rank_));
}

// A put that the target's completion queue tells of. It is one operation on the wire, as any put.
status ofi_transport::notify(int rank, const op& o, std::uint64_t remote_data) noexcept {
  if (const status s = check(rank, o); s != status::ok) return s;
  const region& r = regions_[o.region];
  peer& p = peers_.of(rank);
  if (p.health != status::ok) return p.health;
  if (r.here == nullptr) return post_one(p, o, r, &remote_data);
  if (o.bytes != 0) execute_whole({&o, 1}, [&](region_id) { return r.here; });
  take_notice(remote_data);
  return status::ok;
}

void ofi_transport::take_notice(std::uint64_t remote_data) noexcept {
  const std::uint64_t from = remote_data & nobody;
  if (from == nobody) ++greetings_;
  if (from >= static_cast<std::uint64_t>(size_)) return;
  arrived_.push_back({static_cast<int>(from), remote_data >> 8 * rank_bytes});
}

status ofi_transport::poll_notice(notice& n) noexcept {
  if (!caps_.put_notify) return status::unsupported;
  if (arrived_.empty()) progress();
  if (arrived_.empty()) return domain_health_ == status::ok ? status::again : domain_health_;
  n = arrived_.front();
  arrived_.pop_front();
  return status::ok;
}

status ofi_transport::post_one(peer& p, const op& o, const region& r, const std::uint64_t* remote_data) noexcept {
  if (p.address == FI_ADDR_UNSPEC) [[unlikely]] {
    if (const status s = find(r.rank, p); s != status::ok) return s;
  }
  if (free_ == nullptr) {
    progress();
    if (free_ == nullptr) return status::again;
  }
  request& q = *free_;
  free_ = q.next_free;
  q.peer = static_cast<std::int32_t>(r.rank);
  q.copy_to = nullptr;
  q.temporary = nullptr;
  may_sleep_ = false;
  const ssize_t sent = o.kind == op_kind::put   ? start_put(q, p, o, r, remote_data)
                       : o.kind == op_kind::get ? start_get(q, p, o, r)
                                                : start_atomic(q, p, o, r);
  if (sent == 0) {
    ++p.pending;
    return status::ok;
  }
  give_back(q);
  if (sent == -FI_EAGAIN) {
    progress();
    return p.health != status::ok ? p.health : status::again;
  }
  // A provider may know of such data and have none with puts: found out as the transport is measured.
  if (remote_data != nullptr && (sent == -FI_EINVAL || sent == -FI_EOPNOTSUPP || sent == -FI_ENOSYS)) {
    return status::unsupported;
  }
  base::let_a_death_be_told();
  base::log(base::log_level::error, "ofi: an operation to rank " + std::to_string(r.rank) + " was refused (" +
                                        libfabric().strerror(static_cast<int>(-sent)) + ")" +
                                        remedy(static_cast<int>(-sent)) + ".");
  return p.health = status::peer_lost;
}

// The descriptor that FI_MR_LOCAL wants with a local address: of a registered region, or of a registration that lasts
// as long as the operation does.
void* ofi_transport::describe_local(const void* at, std::size_t bytes, request& r) noexcept {
  if (!mode(FI_MR_LOCAL)) return nullptr;
  const auto* from = static_cast<const std::byte*>(at);
  for (const own_region& o : own_) {
    if (from >= o.base && from + bytes <= o.base + o.bytes) return fi_mr_desc(o.mr.get());
  }
  int error = 0;
  r.temporary = register_with_provider(const_cast<void*>(at), bytes, FI_READ | FI_WRITE, error);
  if (r.temporary != nullptr) return fi_mr_desc(r.temporary);
  // rxm over verbs refuses memory that an operation under way has registered already: its turn comes after that one.
  if (std::all_of(peers_.begin(), peers_.end(), [](const peer& p) { return p.pending == 0; })) {
    base::fatal("ofi: " + base::format_size(bytes) + " of an operation cannot be registered (" +
                libfabric().strerror(-error) + "); raise the limit of locked memory (ulimit -l unlimited).");
  }
  return nullptr;
}

ssize_t ofi_transport::start_put(request& q, const peer& p, const op& o, const region& r,
                                 const std::uint64_t* remote_data) noexcept {
  void* desc = nullptr;
  void* from = o.local;
  if (o.bytes <= small_bytes) {
    std::memcpy(q.small, o.local, o.bytes);
    from = q.small;
    if (requests_mr_ != nullptr) desc = fi_mr_desc(requests_mr_.get());
  } else {
    desc = describe_local(from, o.bytes, q);
    if (desc == nullptr && mode(FI_MR_LOCAL)) return -FI_EAGAIN;
  }
  const iovec local{from, o.bytes};
  const fi_rma_iov remote{r.start + o.remote, o.bytes, r.key};
  const fi_msg_rma m{&local, &desc, 1, p.address, &remote, 1, &q.context, remote_data == nullptr ? 0 : *remote_data};
  const std::uint64_t tells = remote_data == nullptr ? 0 : FI_REMOTE_CQ_DATA;
  return fi_writemsg(ep_.get(), &m, FI_COMPLETION | FI_DELIVERY_COMPLETE | tells);
}

ssize_t ofi_transport::start_get(request& q, const peer& p, const op& o, const region& r) noexcept {
  void* desc = nullptr;
  void* to = o.local;
  if (mode(FI_MR_LOCAL) && o.bytes <= small_bytes) {
    to = q.small;
    q.copy_to = o.local;
    q.copy_bytes = static_cast<std::uint32_t>(o.bytes);
    desc = fi_mr_desc(requests_mr_.get());
  } else {
    desc = describe_local(to, o.bytes, q);
    if (desc == nullptr && mode(FI_MR_LOCAL)) return -FI_EAGAIN;
  }
  const iovec local{to, o.bytes};
  const fi_rma_iov remote{r.start + o.remote, o.bytes, r.key};
  const fi_msg_rma m{&local, &desc, 1, p.address, &remote, 1, &q.context, 0};
  return fi_readmsg(ep_.get(), &m, FI_COMPLETION);
}

ssize_t ofi_transport::start_atomic(request& q, const peer& p, const op& o, const region& r) noexcept {
  void* desc = requests_mr_ == nullptr ? nullptr : fi_mr_desc(requests_mr_.get());
  q.copy_to = o.local;
  q.copy_bytes = word_bytes;
  q.operand = o.operand;
  q.expected = o.expected;
  fi_ioc operand{&q.operand, 1};
  const fi_ioc expected{&q.expected, 1};
  fi_ioc result{q.small, 1};
  const fi_rma_ioc remote{r.start + o.remote, 1, r.key};
  fi_msg_atomic m{};
  m.msg_iov = &operand;
  m.desc = &desc;
  m.iov_count = 1;
  m.addr = p.address;
  m.rma_iov = &remote;
  m.rma_iov_count = 1;
  m.datatype = FI_UINT64;
  m.context = &q.context;
  m.op = o.kind == op_kind::fetch_add ? FI_SUM : FI_CSWAP;
  const auto start = [&] {
    return o.kind == op_kind::fetch_add
               ? fi_fetch_atomicmsg(ep_.get(), &m, &result, &desc, 1, atomic_flags_)
               : fi_compare_atomicmsg(ep_.get(), &m, &expected, &desc, 1, &result, &desc, 1, atomic_flags_);
  };
  const ssize_t sent = start();
  if (sent != -FI_EINVAL && sent != -FI_EOPNOTSUPP && sent != -FI_ENOSYS) return sent;
  if (std::exchange(atomic_flags_, FI_COMPLETION) == FI_COMPLETION) return sent;
  base::log_for_node(
      base::log_level::info,
      "ofi: the provider refuses FI_DELIVERY_COMPLETE for atomics that fetch; their completion is taken for it.");
  return start();
}

void ofi_transport::give_back(request& q) noexcept {
  if (q.temporary != nullptr) fi_close(&q.temporary->fid);
  q.next_free = free_;
  free_ = &q;
}

void ofi_transport::finish(request& q) noexcept {
  if (q.copy_to != nullptr) std::memcpy(q.copy_to, q.small, q.copy_bytes);
  --peers_.find(q.peer)->pending;
  give_back(q);
}

void ofi_transport::progress() noexcept {
  may_sleep_ = false;
  if (domain_health_ != status::ok) return;
  fi_cq_data_entry entries[16];
  for (;;) {
    const ssize_t n = fi_cq_read(cq_.get(), entries, std::size(entries));
    if (n == -FI_EAGAIN || n == 0) return;
    if (n == -FI_EAVAIL) {
      take_error();
      continue;
    }
    if (n < 0) {
      base::log(base::log_level::error,
                std::string("ofi: the completion queue failed (") + libfabric().strerror(static_cast<int>(-n)) + ").");
      domain_health_ = status::domain_lost;
      return;
    }
    for (ssize_t i = 0; i < n; ++i) {
      // What a peer has written belongs to no request of ours: no receive was posted that it could have used.
      if ((entries[i].flags & FI_REMOTE_WRITE) != 0 || entries[i].op_context == nullptr) {
        take_notice(entries[i].data);
      } else {
        finish(*static_cast<request*>(entries[i].op_context));  // the context is the request's first member
      }
    }
    if (n < static_cast<ssize_t>(std::size(entries))) return;
  }
}

bool ofi_transport::may_sleep() noexcept {
  if (!arrived_.empty()) return false;
  fid* queue = &cq_->fid;
  if (!may_sleep_) may_sleep_ = fi_trywait(fabric_.get(), &queue, 1) == FI_SUCCESS;
  return may_sleep_;
}

void ofi_transport::take_error() noexcept {
  fi_cq_err_entry e{};
  if (fi_cq_readerr(cq_.get(), &e, 0) != 1) return;
  if (e.op_context == nullptr) {
    // Whose operation it was is not known, so some peer's count would never come to 0, and a worker that waits for it
    // would wait forever.
    base::let_a_death_be_told();  // of which provider shm speaks so, too
    base::log(base::log_level::error,
              std::string("ofi: an operation failed (") + libfabric().strerror(e.err) +
                  "), and the provider does not say which; the network of this worker is gone.");
    domain_health_ = status::domain_lost;
    return;
  }
  auto& q = *static_cast<request*>(e.op_context);
  peer& p = *peers_.find(q.peer);
  if (p.health == status::ok) {
    char text[128] = "";
    const char* detail = fi_cq_strerror(cq_.get(), e.prov_errno, e.err_data, text, sizeof text);
    // The next use of the peer is told that it is lost; when its process has died, the processes that watch it say so.
    const bool parted = e.err == FI_ECANCELED || e.err == FI_ENOTCONN || e.err == FI_ECONNRESET ||
                        e.err == FI_ECONNABORTED || e.err == FI_ESHUTDOWN;
    if (!parted) base::let_a_death_be_told();
    base::log(parted ? base::log_level::info : base::log_level::error,
              "ofi: an operation to rank " + std::to_string(q.peer) + " failed (" + libfabric().strerror(e.err) +
                  (detail == nullptr ? "" : ": ") + (detail == nullptr ? "" : detail) + ").");
  }
  p.health = status::peer_lost;
  --p.pending;
  give_back(q);
}

status ofi_transport::flush(int rank) noexcept {
  if (rank < 0 || rank >= size_) return status::invalid;
  const peer* p = peers_.find(rank);
  progress();
  if (domain_health_ != status::ok) return domain_health_;
  if (p == nullptr) return status::ok;
  if (p->health != status::ok) return p->health;
  return p->pending == 0 ? status::ok : status::again;
}

}  // namespace tobi::transports::ofi
