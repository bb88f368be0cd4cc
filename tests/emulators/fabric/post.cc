// SPDX-License-Identifier: Apache-2.0
// The rules of posting. All of them are looked at before the provider may say FI_EAGAIN, so none hides behind it.
#include <rdma/fi_errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/emulators/fabric/objects.hpp"

namespace tobi::emulators::fabric {

namespace {

constexpr std::byte poison{0xa5};

std::uint64_t total(const std::vector<iovec>& v) {
  return std::accumulate(v.begin(), v.end(), std::uint64_t{0},
                         [](std::uint64_t n, const iovec& i) { return n + i.iov_len; });
}

const char* page_of(const posting& p) { return p.what == verb::atomic ? "fi_atomic(3)" : "fi_rma(3)"; }

int check_endpoint(const endpoint& e, const posting& p) {
  if (!e.enabled) {
    return broken("fi_endpoint(3)", "an operation is posted to an endpoint that is not enabled", -FI_EOPBADSTATE);
  }
  const std::uint64_t kind = p.what == verb::atomic ? FI_ATOMIC : FI_RMA;
  const std::uint64_t way = p.what == verb::get ? FI_READ : FI_WRITE;
  if (!has(e.caps, kind) || !has(e.caps, way)) {
    return broken("fi_getinfo(3)",
                  std::string(kind == FI_ATOMIC ? "an atomic" : "an RMA operation") +
                      " is posted whose capabilities the endpoint was not opened with",
                  -FI_EOPNOTSUPP);
  }
  if (name_of(*e.peers, p.peer) == nullptr) {
    return broken("fi_av(3)", "an operation names an address that fi_av_insert has not returned");
  }
  return 0;
}

int check_limits(const posting& p) {
  const profile& limits = in_force();
  const std::uint64_t bytes = total(p.local);
  if (p.local.size() > limits.iov_limit) {
    return broken("fi_endpoint(3)",
                  "an operation has more buffers than iov_limit, " + std::to_string(limits.iov_limit));
  }
  if (p.remote.empty() || p.remote.size() > limits.rma_iov_limit) {
    return broken("fi_endpoint(3)", "an operation has more targets than rma_iov_limit, or none");
  }
  std::uint64_t there = 0;
  for (const fi_rma_iov& r : p.remote) there += r.len;
  if (there != bytes) return broken(page_of(p), "an operation names different sizes here and at the target");
  if (bytes > limits.max_msg_size) {
    return broken("fi_endpoint(3)",
                  "an operation of " + std::to_string(bytes) + " bytes is above max_msg_size, " +
                      std::to_string(limits.max_msg_size),
                  -FI_EMSGSIZE);
  }
  if (has(p.flags, FI_INJECT) && (p.what == verb::get || bytes > limits.inject_size)) {
    return broken("fi_endpoint(3)", "an operation of " + std::to_string(bytes) +
                                        " bytes is injected, and inject_size is " + std::to_string(limits.inject_size));
  }
  if (!has(p.flags, FI_REMOTE_CQ_DATA)) return 0;
  const std::uint64_t room = limits.cq_data_size;
  if (p.what != verb::put || room == 0 || (room < 8 && p.data >> 8 * room != 0)) {
    return broken("fi_domain(3)", "an operation carries more data for the target's completion queue than cq_data_size");
  }
  return 0;
}

int check_atomic(const posting& p) {
  if (p.what != verb::atomic) return 0;
  const std::uint64_t way = p.compare.iov_base != nullptr  ? FI_COMPARE_ATOMIC
                            : p.result.iov_base != nullptr ? FI_FETCH_ATOMIC
                                                           : 0;
  if (!offers(p.datatype, p.op, way)) {
    return broken("fi_atomic(3)", "an atomic is posted that fi_query_atomic does not offer", -FI_EOPNOTSUPP);
  }
  if (way != 0 && has(p.flags, FI_DELIVERY_COMPLETE) && in_force().fetch_delivery == 0) return -FI_EOPNOTSUPP;
  if (p.remote.size() != 1 || p.remote[0].len != word_bytes(p.datatype)) {
    return broken("fi_atomic(3)", "an atomic is posted of more words than fi_query_atomic offers");
  }
  return 0;
}

// FI_MR_LOCAL: a descriptor of a region that covers the buffer, and was registered for it.
int check_descriptor(const endpoint& e, void* desc, const iovec& buffer, std::uint64_t access,
                     std::vector<region*>& used) {
  if (!has(e.in->mr_mode, FI_MR_LOCAL) || buffer.iov_len == 0) return 0;
  auto* const r = static_cast<region*>(desc);
  if (r == nullptr || !e.in->regions.contains(r)) {
    return broken("fi_mr(3)", "mr_mode has FI_MR_LOCAL, and a buffer comes without the descriptor of an open region");
  }
  const auto* from = static_cast<const std::byte*>(buffer.iov_base);
  if (from < r->base || from + buffer.iov_len > r->base + r->bytes) {
    return broken("fi_mr(3)", "a buffer comes with the descriptor of a region that does not cover it");
  }
  if (!has(r->access, access)) return broken("fi_mr(3)", "a buffer's region was not registered for this access");
  if (!r->enabled || (has(e.in->mr_mode, FI_MR_ENDPOINT) && r->of != &e)) {
    return broken("fi_mr(3)", "a buffer's region is not enabled for this endpoint (FI_MR_ENDPOINT)");
  }
  used.push_back(r);
  return 0;
}

int check_descriptors(const endpoint& e, const posting& p, std::vector<region*>& used) {
  const std::uint64_t access = p.what == verb::get ? FI_READ : FI_WRITE;
  int error = 0;
  for (std::size_t i = 0; !has(p.flags, FI_INJECT) && i < p.local.size() && error == 0; ++i) {
    error = check_descriptor(e, p.desc == nullptr ? nullptr : p.desc[i], p.local[i], access, used);
  }
  if (error == 0) error = check_descriptor(e, p.compare_desc, p.compare, FI_WRITE, used);
  return error != 0 ? error : check_descriptor(e, p.result_desc, p.result, FI_READ, used);
}

int check_context(const endpoint& e, const posting& p, bool completes) {
  if (!completes || (e.in->mode & (FI_CONTEXT | FI_CONTEXT2)) == 0) return 0;
  if (p.context == nullptr) return broken("fi_getinfo(3)", "mode has FI_CONTEXT or FI_CONTEXT2, and a context is null");
  if (e.contexts.contains(p.context)) {
    return broken("fi_getinfo(3)", "a context is used again before its operation is complete (FI_CONTEXT)");
  }
  return 0;
}

// Back-pressure: nothing was posted.
int refuse(endpoint& e, const name& peer, bool completes) {
  const profile& limits = in_force();
  if (e.under_way.size() >= limits.tx_size || (completes && e.transmits->full())) {
    if (e.in->manages) return -FI_EAGAIN;
    return broken("fi_domain(3)", "a queue is overrun, and resource_mgmt is FI_RM_DISABLED");
  }
  if (e.posts[peer]++ < limits.again_first) return -FI_EAGAIN;
  return e.in->chance() % 256 < limits.again ? -FI_EAGAIN : 0;
}

void remember(operation& o, const posting& p) {
  o.local = p.local;
  if (p.what == verb::atomic) o.local = {p.result};
  for (const iovec& i : p.local) {
    if (p.what == verb::get || i.iov_len == 0) continue;
    const auto* from = static_cast<const std::byte*>(i.iov_base);
    o.before.insert(o.before.end(), from, from + i.iov_len);
  }
  if (has(p.flags, FI_INJECT)) o.local.clear();
}

// What a get has not brought yet is recognised by what was put there.
void spoil(const endpoint& e, operation& o) {
  for (const iovec& mine : o.local) {
    for (const auto& [number, other] : e.under_way) {
      if (other.what != verb::get) continue;
      for (const iovec& i : other.local) {
        const auto* a = static_cast<const std::byte*>(mine.iov_base);
        const auto* b = static_cast<const std::byte*>(i.iov_base);
        if (a < b + i.iov_len && b < a + mine.iov_len) o.shares = true;
      }
    }
  }
  for (const iovec& mine : o.local) std::memset(mine.iov_base, static_cast<int>(poison), mine.iov_len);
}

void add_packets(endpoint& e, operation& o, const posting& p, std::uint64_t number) {
  header h{.what = p.what, .from = e.own, .operation = number, .data = p.data};
  h.tells = has(p.flags, FI_REMOTE_CQ_DATA) ? 1 : 0;
  h.datatype = p.datatype;
  h.op = p.op;
  if (p.what == verb::atomic && !o.before.empty())
    std::memcpy(&h.operand, o.before.data(), std::min<std::size_t>(8, o.before.size()));
  if (p.compare.iov_len != 0) std::memcpy(&h.compare, p.compare.iov_base, std::min<std::size_t>(8, p.compare.iov_len));
  const std::size_t first = e.out.size();
  for (const fi_rma_iov& r : p.remote) {
    for (std::uint64_t at = 0; at == 0 || at < r.len; at += packet_bytes) {
      h.bytes = std::min(packet_bytes, r.len - at);
      h.address = r.addr + at;
      h.key = r.key;
      e.out.push_back({*name_of(*e.peers, p.peer), h, {}});
      h.offset += h.bytes;
    }
  }
  o.packets = o.unsent = e.out.size() - first;
  for (std::size_t i = first; i < e.out.size(); ++i) e.out[i].head.packets = o.packets;
}

}  // namespace

ssize_t post(endpoint& e, const posting& p) {
  const std::lock_guard guard(e.in->lock);
  const bool completes = p.context != &e && (!e.selective || has(p.flags, FI_COMPLETION));
  std::vector<region*> used;
  int error = check_endpoint(e, p);
  if (error == 0) error = check_limits(p);
  if (error == 0) error = check_atomic(p);
  if (error == 0) error = check_descriptors(e, p, used);
  if (error == 0) error = check_context(e, p, completes);
  if (error == 0) error = refuse(e, *name_of(*e.peers, p.peer), completes);
  if (error != 0) return error;
  operation o;
  o.what = p.what;
  o.completes = completes;
  o.delivered = p.what != verb::put || has(p.flags, FI_DELIVERY_COMPLETE);
  o.context = p.context;
  o.described = std::move(used);
  for (region* r : o.described) ++r->used;
  remember(o, p);
  if (p.what == verb::get) spoil(e, o);
  const std::uint64_t number = e.next++;
  add_packets(e, o, p, number);
  if (completes) {
    ++e.transmits->promised;
    e.contexts.insert(p.context);
    const std::size_t words = has(e.in->mode, FI_CONTEXT2) ? 8 : has(e.in->mode, FI_CONTEXT) ? 4 : 0;
    std::fill_n(static_cast<std::uint64_t*>(p.context), words, number ^ name_magic);
  }
  e.under_way.emplace(number, std::move(o));
  const std::uint64_t one = 1;
  if (in_force().has_device()) (void)!write(e.event, &one, sizeof one);
  return 0;
}

}  // namespace tobi::emulators::fabric
