// SPDX-License-Identifier: Apache-2.0
// What moves operations: at the initiator their packets, at the target what they ask for, and their completions.
#include <poll.h>
#include <rdma/fi_errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tests/emulators/fabric/objects.hpp"

namespace tobi::emulators::fabric {

namespace {

constexpr std::byte poison{0xa5};
constexpr std::uint64_t whole = sizeof(std::uint64_t);
constexpr int at_once = 64;  // packets of one turn

// Calls DO with each part of the buffers between OFFSET and OFFSET + BYTES.
template <class Do>
void each_part(const std::vector<iovec>& local, std::uint64_t offset, std::uint64_t bytes, Do&& act) {
  for (const iovec& i : local) {
    if (offset >= i.iov_len) {
      offset -= i.iov_len;
      continue;
    }
    const std::uint64_t n = std::min(bytes, i.iov_len - offset);
    if (n != 0) act(static_cast<std::byte*>(i.iov_base) + offset, n);
    bytes -= n;
    offset = 0;
  }
}

// --- the target --------------------------------------------------------------------------------------

// Aligned words stay whole, and come in any order.
void write_words(std::byte* to, const std::byte* from, std::uint64_t bytes, bool backwards) {
  const std::uint64_t head = std::min(bytes, (whole - reinterpret_cast<std::uintptr_t>(to) % whole) % whole);
  const std::uint64_t words = (bytes - head) / whole;
  std::memcpy(to, from, head);
  for (std::uint64_t n = 0; n < words; ++n) {
    const std::uint64_t at = head + whole * (backwards ? words - 1 - n : n);
    std::uint64_t w = 0;
    std::memcpy(&w, from + at, whole);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(to + at), w, __ATOMIC_RELEASE);
  }
  std::memcpy(to + head + whole * words, from + head + whole * words, bytes - head - whole * words);
}

// Atomic among the provider's own operations alone: what a CPU changes between the load and the store is lost. A
// compare-and-swap that fails stores, too, as some devices do. A device with a cache of its own may store late.
std::uint64_t execute_atomic(endpoint& e, std::byte* at, const header& h) {
  const auto type = static_cast<fi_datatype>(h.datatype);
  if (word_bytes(type) == whole) {
    auto* const w = reinterpret_cast<std::uint64_t*>(at);
    const std::uint64_t old = __atomic_load_n(w, __ATOMIC_ACQUIRE);
    const std::uint64_t value = changed(type, static_cast<fi_op>(h.op), old, h.operand, h.compare);
    const auto store = [=] { __atomic_store_n(w, value, __ATOMIC_RELEASE); };
    in_force().fetch_late != 0 ? void(e.late = store) : store();
    return old;
  }
  auto* const w = reinterpret_cast<std::uint32_t*>(at);
  const std::uint32_t old = __atomic_load_n(w, __ATOMIC_ACQUIRE);
  const std::uint64_t value = changed(type, static_cast<fi_op>(h.op), old, h.operand, h.compare);
  __atomic_store_n(w, static_cast<std::uint32_t>(value), __ATOMIC_RELEASE);
  return old;
}

// Null and a reason, or where H points to.
std::byte* find_target(const endpoint& e, const header& h, refusal& reason) {
  const auto found = e.in->by_key.find(h.key);
  reason = refusal::no_key;
  if (found == e.in->by_key.end()) return nullptr;
  const region& r = *found->second;
  reason = refusal::disabled;
  if (!r.enabled) return nullptr;
  reason = refusal::other_endpoint;
  if (has(e.in->mr_mode, FI_MR_ENDPOINT) && r.of != &e) return nullptr;
  reason = refusal::access;
  if (!has(r.access, h.what == verb::get ? FI_REMOTE_READ : FI_REMOTE_WRITE)) return nullptr;
  const std::uint64_t start = has(e.in->mr_mode, FI_MR_VIRT_ADDR) ? reinterpret_cast<std::uint64_t>(r.base) : 0;
  reason = refusal::range;
  if (h.address < start || h.address - start > r.bytes || r.bytes - (h.address - start) < h.bytes) return nullptr;
  std::byte* const at = r.base + (h.address - start);
  reason = refusal::alignment;
  return h.what == verb::atomic && reinterpret_cast<std::uintptr_t>(at) % h.bytes != 0 ? nullptr : at;
}

// The data of a put are told when all of its packets are here.
void tell(endpoint& e, const header& h) {
  const auto key = std::make_pair(h.from, h.operation);
  if (++e.partial[key] < h.packets) return;
  e.partial.erase(key);
  fi_cq_tagged_entry told{};
  told.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
  told.data = h.data;
  e.receives->add(told);
}

// false: not now.
bool execute(endpoint& e, const packet& p) {
  const header& h = p.head;
  if (h.what == verb::put && h.tells != 0 && e.receives->full()) {
    if (e.in->manages) return false;
    broken("fi_cq(3)", "a completion queue is overrun, and resource_mgmt is FI_RM_DISABLED");
  }
  if (e.late != nullptr) std::exchange(e.late, nullptr)();
  packet answer{h.from, h, {}};
  answer.head.from = e.own;
  refusal reason{};
  std::byte* const at = find_target(e, h, reason);
  if (at == nullptr) {
    answer.head.what = verb::refused;
    answer.head.reason = reason;
  } else {
    answer.head.what = verb::done;
    if (h.what == verb::put) {
      write_words(at, p.payload.data(), h.bytes, in_force().shuffles != 0 && e.in->chance() % 2 == 0);
      if (h.tells != 0) tell(e, h);
    } else if (h.what == verb::get) {
      answer.payload.assign(at, at + h.bytes);
    } else {
      answer.head.result = execute_atomic(e, at, h);
    }
  }
  e.out.push_back(std::move(answer));
  return true;
}

// --- the initiator -----------------------------------------------------------------------------------

void check_untouched(const operation& o) {
  if (o.what == verb::get || o.local.empty() || o.told) return;
  if (o.what == verb::atomic) return;
  std::uint64_t at = 0;
  for (const iovec& i : o.local) {
    if (i.iov_len != 0 && std::memcmp(o.before.data() + at, i.iov_base, i.iov_len) != 0) {
      broken("fi_rma(3)", "the buffer of a write has changed before the write was complete");
    }
    at += i.iov_len;
  }
}

void tell_initiator(endpoint& e, operation& o, int error) {
  if (o.told) return;
  o.told = true;
  if (!o.completes) return;
  --e.transmits->promised;
  e.contexts.erase(o.context);
  if (error != 0) {
    fi_cq_err_entry failed{};
    failed.op_context = o.context;
    failed.err = error;
    return e.transmits->add(failed);
  }
  fi_cq_tagged_entry done{};
  done.op_context = o.context;
  done.flags = o.what == verb::atomic ? FI_ATOMIC : FI_RMA;
  done.flags |= o.what == verb::get ? FI_READ : FI_WRITE;
  e.transmits->add(done);
}

void check_context(const endpoint& e, const operation& o, std::uint64_t number) {
  const std::size_t words = has(e.in->mode, FI_CONTEXT2) ? 8 : has(e.in->mode, FI_CONTEXT) ? 4 : 0;
  if (!o.completes || o.told) return;
  const auto* const w = static_cast<const std::uint64_t*>(o.context);
  if (std::any_of(w, w + words, [&](std::uint64_t v) { return v != (number ^ name_magic); })) {
    broken("fi_getinfo(3)", "a context has changed before its operation was complete (FI_CONTEXT)");
  }
}

void finish(endpoint& e, std::uint64_t number, int error) {
  operation& o = e.under_way.at(number);
  check_context(e, o, number);
  if (error == 0) check_untouched(o);
  tell_initiator(e, o, error);
  for (region* r : o.described) --r->used;
  e.under_way.erase(number);
}

void arrive(operation& o, const packet& p) {
  if (o.what == verb::get) {
    const std::byte* from = p.payload.data();
    each_part(o.local, p.head.offset, p.payload.size(), [&](std::byte* to, std::uint64_t n) {
      if (!o.shares && std::any_of(to, to + n, [](std::byte b) { return b != poison; })) {
        broken("fi_rma(3)", "the buffer of a read has changed before the read was complete");
      }
      std::memcpy(to, from, n);
      from += n;
    });
  } else if (o.what == verb::atomic && !o.local.empty() && o.local[0].iov_base != nullptr) {
    std::memcpy(o.local[0].iov_base, &p.head.result, o.local[0].iov_len);
  }
}

void answered(endpoint& e, const packet& p) {
  const auto found = e.under_way.find(p.head.operation);
  if (found == e.under_way.end()) return;
  if (p.head.what == verb::refused) {
    const int error =
        -broken("fi_mr(3)", "an operation is refused, since " + std::string(why(p.head.reason)), -FI_EACCES);
    return finish(e, p.head.operation, error);
  }
  arrive(found->second, p);
  if (--found->second.packets == 0) finish(e, p.head.operation, 0);
}

// --- both --------------------------------------------------------------------------------------------

bool is_answer(const packet& p) { return p.head.what == verb::done || p.head.what == verb::refused; }

bool waits_for_host(const packet& p) {
  return (p.head.what == verb::atomic ? in_force().amo_by() : in_force().rma_by()) == mover::host;
}

void receive(endpoint& e) {
  std::byte bytes[sizeof(header) + packet_bytes];
  for (int n = 0; n < at_once; ++n) {
    const ssize_t got = recv(e.socket, bytes, sizeof bytes, 0);
    if (got < static_cast<ssize_t>(sizeof(header))) return;
    packet p;
    std::memcpy(&p.head, bytes, sizeof(header));
    p.payload.assign(bytes + sizeof(header), bytes + got);
    if (is_answer(p)) {
      answered(e, p);
    } else {
      e.waiting.push_back(std::move(p));
    }
  }
}

void serve(endpoint& e, bool as_host) {
  std::deque<packet> later;
  while (!e.waiting.empty()) {
    packet p = std::move(e.waiting.front());
    e.waiting.pop_front();
    if ((waits_for_host(p) && !as_host) || !execute(e, p)) later.push_back(std::move(p));
  }
  e.waiting = std::move(later);
}

void load(endpoint& e, packet& p) {
  const operation& o = e.under_way.at(p.head.operation);
  p.payload.clear();
  if (o.local.empty()) {
    const auto from = o.before.begin() + static_cast<std::ptrdiff_t>(p.head.offset);
    p.payload.assign(from, from + static_cast<std::ptrdiff_t>(p.head.bytes));
    return;
  }
  each_part(o.local, p.head.offset, p.head.bytes,
            [&](const std::byte* from, std::uint64_t n) { p.payload.insert(p.payload.end(), from, from + n); });
}

// 0: it is on its way or gone for good; else why not.
int send_one(endpoint& e, packet& p) {
  const bool answers = is_answer(p);
  if (!answers && !e.under_way.contains(p.head.operation)) return 0;  // it has failed
  if (p.head.what == verb::put) load(e, p);
  sockaddr_un at{};
  const socklen_t bytes = socket_address(p.to, at);
  iovec parts[] = {{&p.head, sizeof p.head}, {p.payload.data(), p.payload.size()}};
  const msghdr m{&at, bytes, parts, 2, nullptr, 0, 0};
  if (sendmsg(e.socket, &m, MSG_NOSIGNAL) < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == EINTR) return EAGAIN;
    if (!answers) finish(e, p.head.operation, FI_ECONNRESET);  // the peer is gone
    return 0;
  }
  if (answers) return 0;
  operation& o = e.under_way.at(p.head.operation);
  // Sent is not delivered: such a completion may come before the target has anything.
  if (--o.unsent == 0 && !o.delivered) {
    check_untouched(o);
    check_context(e, o, p.head.operation);
    tell_initiator(e, o, 0);
  }
  return 0;
}

void send(endpoint& e) {
  std::set<name> full;
  std::deque<packet> later;
  for (int n = 0; n < at_once && !e.out.empty(); ++n) {
    if (in_force().shuffles != 0)
      std::swap(e.out.front(), e.out[e.in->chance() % std::min<std::size_t>(8, e.out.size())]);
    packet p = std::move(e.out.front());
    e.out.pop_front();
    if (!full.contains(p.to) && send_one(e, p) == 0) continue;
    full.insert(p.to);
    later.push_back(std::move(p));
  }
  e.out.insert(e.out.begin(), std::make_move_iterator(later.begin()), std::make_move_iterator(later.end()));
}

}  // namespace

void move(endpoint& e, bool as_host) {
  receive(e);
  serve(e, as_host);
  send(e);
}

void run_device(endpoint& e) {
  for (;;) {
    bool busy = false;
    {
      const std::lock_guard guard(e.in->lock);
      if (e.closing) return;
      move(e, false);
      const bool held =
          std::any_of(e.waiting.begin(), e.waiting.end(), [](const packet& p) { return !waits_for_host(p); });
      busy = held || !e.out.empty();
    }
    pollfd ready[] = {{e.socket, POLLIN, 0}, {e.event, POLLIN, 0}};
    const timespec soon{0, 100'000};
    ppoll(ready, 2, busy ? &soon : nullptr, nullptr);
    std::uint64_t some = 0;
    if ((ready[1].revents & POLLIN) != 0) (void)!read(e.event, &some, sizeof some);
  }
}

}  // namespace tobi::emulators::fabric
