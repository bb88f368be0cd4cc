// SPDX-License-Identifier: Apache-2.0
// An RDMA device that is played, for tests of what no device does when it is asked to: libibverbs' functions as the
// transport verbs finds them, with several workers in one process. What is posted is executed at once, in order. Queues
// have their sizes, a notice without a receive waits for one, and a completion queue that is too full loses completions
// and says so by an event, as devices do.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "transports/verbs/library.hpp"

namespace played {

/// What goes wrong. Counts go down to 0; `always` does not.
inline constexpr int always = std::numeric_limits<int>::max();
struct plan {
  int max_cqe = 65536;
  int refused_posts = 0;                         // lists of requests on connections: ENOMEM
  std::size_t refused_at = 0;                    // the request in such a list
  int refused_datagrams = 0;                     // ENOMEM
  int lost_datagrams = 0;                        // on their way
  std::function<bool(const void* bytes)> loses;  // and those of which it says so
  int refused_receives = 0;                      // of notices
  int refused_datagram_receives = 0;             // behind those of the start
  ibv_wc_status fails = IBV_WC_SUCCESS;          // otherwise: how the next signaled request completes
  bool atomics = true;
  bool holds = false;                                // nothing posted is executed
  unsigned doorbells = 0, requests = 0, fences = 0;  // counted: of connections
};
inline plan now;

struct completion {
  ibv_wc wc;
  unsigned retires;  // so many requests of the send queue
};
struct cq : ibv_cq {
  std::deque<completion> found;
  bool armed = false;
  bool unreadable = false;
};
struct srq : ibv_srq {
  int receives = 0;
  int room = 0;
};
struct request {
  ibv_send_wr wr;
  ibv_sge at;
  std::vector<std::byte> data;  // of a put
};
struct qp : ibv_qp {
  ibv_qp_cap cap{};
  std::uint32_t peer = 0;
  unsigned rnr_retry = 0;
  unsigned in_queue = 0;  // requests whose completion, or a later one, was not polled
  unsigned unsignaled = 0;
  bool in_error = false;
  std::deque<request> waiting;
  std::deque<ibv_recv_wr> receives;
  std::deque<ibv_sge> receives_at;
};
struct adapter : verbs_context {
  std::deque<ibv_async_event> events;
  int event_end = -1;
  std::vector<cq*> cqs;  // in the order of their making
};
inline adapter* whole(ibv_context* of) { return static_cast<adapter*>(verbs_get_ctx(of)); }
struct channel : ibv_comp_channel {
  int end = -1;
  std::deque<ibv_cq*> events;
};

inline std::recursive_mutex all;        // of what follows
inline std::vector<adapter*> contexts;  // by rank
inline std::map<std::uint32_t, qp*> qps;
inline std::set<std::uint32_t> keys;
inline std::uint32_t next_number = 100;

/// The completion queues of a worker.
enum class queue { sends, notices, datagrams, sent_datagrams };
inline cq& queue_of(int rank, queue which) {
  return *contexts[static_cast<std::size_t>(rank)]->cqs[static_cast<std::size_t>(which)];
}

// One more of COUNT, if there are any.
inline bool happens(int& count) { return count > 0 && (count == always || count-- > 0); }

inline void raise(ibv_context* of, ibv_event_type type, ibv_cq* at = nullptr, ibv_qp* of_qp = nullptr) {
  adapter* c = whole(of);
  ibv_async_event e{};
  e.event_type = type;
  if (at != nullptr) e.element.cq = at;
  if (of_qp != nullptr) e.element.qp = of_qp;
  c->events.push_back(e);
  static_cast<void>(!write(c->event_end, "e", 1));
}

inline void push(ibv_cq* to, const ibv_wc& wc, unsigned retires) {
  auto* q = static_cast<cq*>(to);
  if (q->found.size() >= static_cast<std::size_t>(q->cqe)) return raise(q->context, IBV_EVENT_CQ_ERR, q);
  q->found.push_back({wc, retires});
  if (!q->armed) return;
  q->armed = false;
  auto* c = static_cast<channel*>(q->channel);
  c->events.push_back(q);
  static_cast<void>(!write(c->end, "c", 1));
}

inline qp* find(std::uint32_t number) {
  const auto at = qps.find(number);
  return at == qps.end() ? nullptr : at->second;
}

inline void complete(qp& q, const request& r, ibv_wc_status how) {
  ++q.unsignaled;
  if (how == IBV_WC_SUCCESS && (r.wr.send_flags & IBV_SEND_SIGNALED) == 0) return;
  ibv_wc wc{};
  wc.wr_id = r.wr.wr_id;
  wc.status = how;
  wc.qp_num = q.qp_num;
  push(q.send_cq, wc, q.unsignaled);
  q.unsignaled = 0;
}

/// The connection of Q breaks: its next request completes as HOW says, the others after it.
inline void break_off(qp& q, ibv_wc_status how) {
  q.in_error = true;
  for (const request& r : q.waiting) {
    complete(q, r, how);
    how = IBV_WC_WR_FLUSH_ERR;
  }
  q.waiting.clear();
}

// False: it has to wait for a receive.
inline bool execute(qp& q, request& r, ibv_wc_status& how) {
  how = IBV_WC_RETRY_EXC_ERR;
  qp* const to = find(q.peer);
  if (to == nullptr) return true;
  if ((r.wr.send_flags & IBV_SEND_SIGNALED) != 0 && now.fails != IBV_WC_SUCCESS) {
    how = std::exchange(now.fails, IBV_WC_SUCCESS);
    return true;
  }
  how = IBV_WC_SUCCESS;
  const bool atomic = r.wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || r.wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
  if (r.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    auto* here = static_cast<srq*>(to->srq);
    if (here->receives == 0) return false;
    --here->receives;
  }
  if (keys.count(atomic ? r.wr.wr.atomic.rkey : r.wr.wr.rdma.rkey) == 0) {
    how = IBV_WC_REM_ACCESS_ERR;
    return true;
  }
  auto* const local = reinterpret_cast<std::byte*>(r.at.addr);
  if (atomic) {
    auto& word = *reinterpret_cast<std::uint64_t*>(r.wr.wr.atomic.remote_addr);
    std::memcpy(local, &word, sizeof word);
    const bool add = r.wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    if (add) {
      word += r.wr.wr.atomic.compare_add;
    } else if (word == r.wr.wr.atomic.compare_add) {
      word = r.wr.wr.atomic.swap;
    }
    return true;
  }
  auto* const remote = reinterpret_cast<std::byte*>(r.wr.wr.rdma.remote_addr);
  if (r.wr.opcode == IBV_WR_RDMA_READ) {
    std::memcpy(local, remote, r.at.length);
    return true;
  }
  if (!r.data.empty()) std::memcpy(remote, r.data.data(), r.data.size());
  if (r.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    ibv_wc wc{};
    wc.imm_data = r.wr.imm_data;
    wc.qp_num = to->qp_num;
    push(to->recv_cq, wc, 0);
  }
  return true;
}

inline void move(qp& q) {
  while (!now.holds && !q.waiting.empty()) {
    ibv_wc_status how;
    if (!execute(q, q.waiting.front(), how)) {
      if (q.rnr_retry == 7) return;  // for ever
      how = IBV_WC_RNR_RETRY_EXC_ERR;
    }
    if (how != IBV_WC_SUCCESS) return break_off(q, how);
    complete(q, q.waiting.front(), how);
    q.waiting.pop_front();
  }
}

/// All connections of RANK break, with what is under way.
inline void break_all(int rank, ibv_wc_status how) {
  const std::lock_guard hold(all);
  for (const auto& [number, q] : qps) {
    if (q->qp_type == IBV_QPT_RC && whole(q->context) == contexts[static_cast<std::size_t>(rank)]) break_off(*q, how);
  }
}
/// Of RANK.
inline ibv_qp* datagrams_of(int rank) {
  for (const auto& [number, q] : qps) {
    if (q->qp_type == IBV_QPT_UD && whole(q->context) == contexts[static_cast<std::size_t>(rank)]) return q;
  }
  return nullptr;
}

inline int send_datagram(qp& q, ibv_send_wr* wr) {
  if (happens(now.refused_datagrams)) return ENOMEM;
  qp* const to = find(wr->wr.ud.remote_qpn);
  ibv_wc wc{};
  wc.qp_num = q.qp_num;
  push(q.send_cq, wc, 1);
  if (to == nullptr || to->receives.empty() || happens(now.lost_datagrams)) return 0;
  if (now.loses && now.loses(reinterpret_cast<const void*>(wr->sg_list->addr))) return 0;
  const std::uint32_t bytes = wr->sg_list->length;
  std::memcpy(reinterpret_cast<std::byte*>(to->receives_at.front().addr) + 40,
              reinterpret_cast<std::byte*>(wr->sg_list->addr), bytes);
  wc = {};
  wc.wr_id = to->receives.front().wr_id;
  wc.byte_len = 40 + bytes;
  wc.qp_num = to->qp_num;
  to->receives.pop_front();
  to->receives_at.pop_front();
  push(to->recv_cq, wc, 0);
  return 0;
}

inline int post_send(ibv_qp* on, ibv_send_wr* wr, ibv_send_wr** bad) {
  const std::lock_guard hold(all);
  auto& q = *static_cast<qp*>(on);
  *bad = wr;
  if (q.qp_type == IBV_QPT_UD) return send_datagram(q, wr);
  ++now.doorbells;
  const bool refused = happens(now.refused_posts);
  for (std::size_t i = 0; wr != nullptr; wr = wr->next, ++i) {
    *bad = wr;
    if (q.in_queue == q.cap.max_send_wr || (refused && i == now.refused_at)) return ENOMEM;
    ++q.in_queue;
    ++now.requests;
    if ((wr->send_flags & IBV_SEND_FENCE) != 0) ++now.fences;
    request r{*wr, wr->num_sge == 0 ? ibv_sge{} : *wr->sg_list, {}};
    if (wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
      const auto* from = reinterpret_cast<std::byte*>(r.at.addr);
      r.data.assign(from, from + r.at.length);
    }
    q.waiting.push_back(std::move(r));
    if (q.in_error) break_off(q, IBV_WC_WR_FLUSH_ERR);
  }
  move(q);
  return 0;
}

inline int poll_cq(ibv_cq* from, int n, ibv_wc* to) {
  const std::lock_guard hold(all);
  auto& at = *static_cast<cq*>(from);
  if (at.unreadable) return -1;
  for (const auto& [number, q] : qps) {
    if (q->send_cq == from) move(*q);
  }
  int taken = 0;
  for (; taken < n && !at.found.empty(); ++taken) {
    to[taken] = at.found.front().wc;
    if (qp* const q = find(to[taken].qp_num); q != nullptr && at.found.front().retires != 0) {
      q->in_queue -= std::min(q->in_queue, at.found.front().retires);
    }
    at.found.pop_front();
  }
  return taken;
}

inline int post_recv(ibv_qp* on, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  const std::lock_guard hold(all);
  auto& q = *static_cast<qp*>(on);
  *bad = wr;
  if (happens(now.refused_datagram_receives)) return ENOMEM;
  q.receives.push_back(*wr);
  q.receives_at.push_back(*wr->sg_list);
  return 0;
}

inline int post_srq_recv(ibv_srq* on, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  const std::lock_guard hold(all);
  auto& q = *static_cast<srq*>(on);
  *bad = wr;
  if (q.receives == q.room || happens(now.refused_receives)) return ENOMEM;
  ++q.receives;
  for (const auto& [number, each] : qps) move(*each);
  return 0;
}

inline ibv_context* open_device(ibv_device* device) {
  const std::lock_guard hold(all);
  auto* c = new adapter{};
  c->sz = sizeof(verbs_context);
  c->query_port = [](ibv_context*, std::uint8_t, ibv_port_attr* a, std::size_t) {
    a->state = IBV_PORT_ACTIVE;
    a->gid_tbl_len = a->pkey_tbl_len = 1;
    a->max_msg_sz = 1u << 30;
    a->active_mtu = IBV_MTU_1024;
    a->link_layer = IBV_LINK_LAYER_ETHERNET;
    return 0;
  };
  ibv_context& shown = c->context;
  shown.abi_compat = __VERBS_ABI_IS_EXTENDED;
  shown.device = device;
  int ends[2];
  if (pipe(ends) != 0) return nullptr;
  shown.async_fd = ends[0];
  c->event_end = ends[1];
  shown.ops.post_send = post_send;
  shown.ops.poll_cq = poll_cq;
  shown.ops.post_recv = post_recv;
  shown.ops.post_srq_recv = post_srq_recv;
  shown.ops.req_notify_cq = [](ibv_cq* at, int) {
    const std::lock_guard held(all);
    static_cast<cq*>(at)->armed = true;
    return 0;
  };
  contexts.push_back(c);
  return &shown;
}

inline ibv_device the_device() {
  ibv_device d{};
  d.transport_type = IBV_TRANSPORT_IB;
  std::strcpy(d.name, "played0");
  return d;
}

inline tobi::transports::verbs::library functions() {
  static ibv_device device = the_device();
  static ibv_device* devices[] = {&device, nullptr};
  tobi::transports::verbs::library l;
  l.get_device_list = [](int* n) {
    *n = 1;
    return devices;
  };
  l.free_device_list = [](ibv_device**) {};
  l.get_device_name = [](ibv_device* d) -> const char* { return d->name; };
  l.open_device = open_device;
  l.close_device = [](ibv_context* at) {
    const std::lock_guard hold(all);
    adapter* c = whole(at);
    close(at->async_fd);
    close(c->event_end);
    std::erase(contexts, c);
    delete c;
    return 0;
  };
  l.query_device = [](ibv_context*, ibv_device_attr* a) {
    *a = {};
    a->max_qp = a->max_srq = a->max_srq_wr = 1000;
    a->max_qp_rd_atom = a->max_qp_init_rd_atom = 16;
    a->max_cqe = now.max_cqe;
    a->atomic_cap = now.atomics ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
    a->phys_port_cnt = 1;
    return 0;
  };
  l.query_gid = [](ibv_context*, std::uint8_t, int, ibv_gid* to) {
    *to = {};
    to->raw[15] = 1;
    return 0;
  };
  l.alloc_pd = [](ibv_context* of) {
    auto* pd = new ibv_pd{};
    pd->context = of;
    return pd;
  };
  l.dealloc_pd = [](ibv_pd* pd) {
    delete pd;
    return 0;
  };
  l.reg_mr = [](ibv_pd* pd, void* at, std::size_t n, int) {
    const std::lock_guard hold(all);
    auto* mr = new ibv_mr{};
    mr->pd = pd;
    mr->addr = at;
    mr->length = n;
    mr->lkey = mr->rkey = next_number++;
    keys.insert(mr->rkey);
    return mr;
  };
  l.dereg_mr = [](ibv_mr* mr) {
    const std::lock_guard hold(all);
    keys.erase(mr->rkey);
    delete mr;
    return 0;
  };
  l.create_comp_channel = [](ibv_context* of) -> ibv_comp_channel* {
    auto* c = new channel{};
    c->context = of;
    int ends[2];
    if (pipe(ends) != 0) return nullptr;
    c->fd = ends[0];
    c->end = ends[1];
    return c;
  };
  l.destroy_comp_channel = [](ibv_comp_channel* at) {
    auto* c = static_cast<channel*>(at);
    close(c->fd);
    close(c->end);
    delete c;
    return 0;
  };
  l.create_cq = [](ibv_context* of, int n, void*, ibv_comp_channel* to, int) -> ibv_cq* {
    const std::lock_guard hold(all);
    if (n > now.max_cqe) {
      errno = EINVAL;
      return nullptr;
    }
    auto* q = new cq{};
    q->context = of;
    q->channel = to;
    q->cqe = n;
    whole(of)->cqs.push_back(q);
    return q;
  };
  l.destroy_cq = [](ibv_cq* q) {
    delete static_cast<cq*>(q);
    return 0;
  };
  l.get_cq_event = [](ibv_comp_channel* of, ibv_cq** at, void**) {
    const std::lock_guard hold(all);
    auto* c = static_cast<channel*>(of);
    char one;
    if (read(c->fd, &one, 1) != 1) return -1;
    *at = c->events.front();
    c->events.pop_front();
    return 0;
  };
  l.ack_cq_events = [](ibv_cq*, unsigned) {};
  l.create_srq = [](ibv_pd* pd, ibv_srq_init_attr* how) -> ibv_srq* {
    auto* q = new srq{};
    q->context = pd->context;
    q->room = static_cast<int>(how->attr.max_wr);
    return q;
  };
  l.destroy_srq = [](ibv_srq* q) {
    delete static_cast<srq*>(q);
    return 0;
  };
  l.create_qp = [](ibv_pd* pd, ibv_qp_init_attr* how) -> ibv_qp* {
    const std::lock_guard hold(all);
    auto* q = new qp{};
    q->context = pd->context;
    q->send_cq = how->send_cq;
    q->recv_cq = how->recv_cq;
    q->srq = how->srq;
    q->cap = how->cap;
    q->qp_type = how->qp_type;
    q->qp_num = next_number++;
    qps[q->qp_num] = q;
    return q;
  };
  l.modify_qp = [](ibv_qp* of, ibv_qp_attr* how, int what) {
    const std::lock_guard hold(all);
    auto* q = static_cast<qp*>(of);
    if ((what & IBV_QP_DEST_QPN) != 0) q->peer = how->dest_qp_num;
    if ((what & IBV_QP_RNR_RETRY) != 0) q->rnr_retry = how->rnr_retry;
    return 0;
  };
  l.destroy_qp = [](ibv_qp* q) {
    const std::lock_guard hold(all);
    qps.erase(q->qp_num);
    delete static_cast<qp*>(q);
    return 0;
  };
  l.create_ah = [](ibv_pd*, ibv_ah_attr*) { return new ibv_ah{}; };
  l.destroy_ah = [](ibv_ah* a) {
    delete a;
    return 0;
  };
  l.get_async_event = [](ibv_context* of, ibv_async_event* e) {
    const std::lock_guard hold(all);
    adapter* c = whole(of);
    char one;
    if (read(of->async_fd, &one, 1) != 1) return -1;
    *e = c->events.front();
    c->events.pop_front();
    return 0;
  };
  l.ack_async_event = [](ibv_async_event*) {};
  l.event_type_str = [](ibv_event_type t) { return t == IBV_EVENT_CQ_ERR ? "CQ error" : "another event"; };
  l.wc_status_str = [](ibv_wc_status s) {
    return s == IBV_WC_RNR_RETRY_EXC_ERR ? "RNR retry counter exceeded" : "another status";
  };
  return l;
}

}  // namespace played
