// ofi: the operations. Every one asks for a completion that means delivered.
#include <algorithm>
#include <cstring>

#include "libcore/base/log.hpp"
#include "transports/cpu_ops.hpp"
#include "transports/ofi/ofi.hpp"

namespace tobi::transports::ofi {

status ofi_transport::post(int rank, std::span<const op> ops) noexcept {
  if (ops.size() != 1 || rank < 0 || rank >= size_) return status::invalid;
  const op& o = ops[0];
  if ((o.kind == op_kind::fetch_add && !caps_.fetch_add) || (o.kind == op_kind::compare_swap && !caps_.compare_swap)) {
    return status::unsupported;
  }
  if (o.region >= regions_.size()) return status::invalid;
  const region& r = regions_[o.region];
  if (r.rank != rank || !in_range(o, r.bytes, caps_.put_max)) return status::invalid;
  if (domain_health_ != status::ok) return domain_health_;
  peer& p = peers_[static_cast<std::size_t>(rank)];
  if (p.health != status::ok) return p.health;

  const bool data = o.kind == op_kind::put || o.kind == op_kind::get;
  if (data && (o.bytes == 0 || r.here != nullptr)) {  // this process's own memory: nothing to send
    if (o.bytes != 0) execute(ops, [&](region_id) { return r.here; });
    return status::ok;
  }
  return post_one(p, o, r);
}

status ofi_transport::post_one(peer& p, const op& o, const region& r) noexcept {
  if (free_ == nullptr) {
    progress();
    if (free_ == nullptr) return status::again;
  }
  request& q = *free_;
  free_ = q.next_free;
  q.peer = static_cast<std::int32_t>(r.rank);
  q.copy_to = nullptr;
  q.temporary = nullptr;
  const ssize_t sent = o.kind == op_kind::put   ? start_put(q, p, o, r)
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
  base::log(base::log_level::error, "ofi: an operation to rank " + std::to_string(r.rank) + " was refused (" +
                                        libfabric().strerror(static_cast<int>(-sent)) + ").");
  return p.health = status::peer_lost;
}

// The descriptor that FI_MR_LOCAL wants beside a local address: of a registered region, or of a registration that lasts
// as long as the operation does.
void* ofi_transport::describe_local(const void* at, std::size_t bytes, request& r) noexcept {
  if (!mode(FI_MR_LOCAL)) return nullptr;
  const auto* from = static_cast<const std::byte*>(at);
  for (const own_region& o : own_) {
    if (from >= o.base && from + bytes <= o.base + o.bytes) return fi_mr_desc(o.mr.get());
  }
  int error = 0;
  r.temporary = register_with_provider(const_cast<void*>(at), bytes, FI_READ | FI_WRITE, next_key_++, error);
  if (r.temporary != nullptr) return fi_mr_desc(r.temporary);
  // rxm over verbs refuses memory that an operation under way has registered already: its turn comes after that one.
  if (std::all_of(peers_.begin(), peers_.end(), [](const peer& p) { return p.pending == 0; })) {
    base::fatal("ofi: " + base::format_size(bytes) + " of an operation cannot be registered (" +
                libfabric().strerror(-error) + "); raise the limit of locked memory (ulimit -l unlimited).");
  }
  return nullptr;
}

ssize_t ofi_transport::start_put(request& q, const peer& p, const op& o, const region& r) noexcept {
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
  const fi_msg_rma m{&local, &desc, 1, p.address, &remote, 1, &q.context, 0};
  return fi_writemsg(ep_.get(), &m, FI_COMPLETION | FI_DELIVERY_COMPLETE);
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
  if (o.kind == op_kind::fetch_add) {
    m.op = FI_SUM;
    return fi_fetch_atomicmsg(ep_.get(), &m, &result, &desc, 1, FI_COMPLETION);
  }
  m.op = FI_CSWAP;
  return fi_compare_atomicmsg(ep_.get(), &m, &expected, &desc, 1, &result, &desc, 1, FI_COMPLETION);
}

void ofi_transport::give_back(request& q) noexcept {
  if (q.temporary != nullptr) fi_close(&q.temporary->fid);
  q.next_free = free_;
  free_ = &q;
}

void ofi_transport::finish(request& q) noexcept {
  if (q.copy_to != nullptr) std::memcpy(q.copy_to, q.small, q.copy_bytes);
  --peers_[static_cast<std::size_t>(q.peer)].pending;
  give_back(q);
}

void ofi_transport::progress() noexcept {
  fi_cq_entry entries[16];
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
    // The context is the request's first member.
    for (ssize_t i = 0; i < n; ++i) finish(*static_cast<request*>(entries[i].op_context));
    if (n < static_cast<ssize_t>(std::size(entries))) return;
  }
}

void ofi_transport::take_error() noexcept {
  fi_cq_err_entry e{};
  if (fi_cq_readerr(cq_.get(), &e, 0) != 1 || e.op_context == nullptr) return;
  auto& q = *static_cast<request*>(e.op_context);
  peer& p = peers_[static_cast<std::size_t>(q.peer)];
  if (p.health == status::ok) {
    char text[128] = "";
    const char* detail = fi_cq_strerror(cq_.get(), e.prov_errno, e.err_data, text, sizeof text);
    // Whoever uses the peer next is told that it is lost; when its process has died, those who watch it say so.
    const bool parted = e.err == FI_ECANCELED || e.err == FI_ENOTCONN || e.err == FI_ECONNRESET ||
                        e.err == FI_ECONNABORTED || e.err == FI_ESHUTDOWN;
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
  peer& p = peers_[static_cast<std::size_t>(rank)];
  progress();
  if (domain_health_ != status::ok) return domain_health_;
  if (p.health != status::ok) return p.health;
  return p.pending == 0 ? status::ok : status::again;
}

}  // namespace tobi::transports::ofi
