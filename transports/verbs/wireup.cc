#include "transports/verbs/wireup.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"

namespace tobi::transports::verbs {

namespace {

constexpr std::uint32_t q_key = 0x746f6269;
constexpr std::uint64_t magic = 0x746f62692d767262;  // "tobi-vrb"
constexpr std::size_t grh_bytes = 40;
constexpr std::uint8_t hop_limit = 64;
// 4.096 us times 2^17 is half a second, so a peer that is lost is known after four, or some times that on devices that
// wait longer than they were told. Much less, and a machine that is busy for a moment counts as lost.
constexpr std::uint8_t answer_timeout = 17;
constexpr std::uint8_t tries = 6;  // 7 would do in InfiniBand, and means "for ever" to Soft-RoCE
constexpr std::uint8_t wait_for_receives_for_ever = 7;
constexpr std::uint8_t not_ready_pause = 12;                  // 0.64 ms
constexpr std::uint64_t port_may_be_down_ns = 5'000'000'000;  // a switch that starts anew, a cable that is moved

[[noreturn]] void cannot(const char* what, const opened& device) {
  base::fatal(std::string("verbs: ") + what + " failed on " + device.name + " (" + std::strerror(errno) + ").");
}

}  // namespace

ibv_ah_attr route_to(const opened& device, const endpoint& peer) noexcept {
  ibv_ah_attr a{};
  a.port_num = device.port;
  a.dlid = peer.lid;
  if (peer.is_ethernet != 0 || peer.lid == 0) {
    a.is_global = 1;
    a.grh.dgid = peer.gid;
    a.grh.sgid_index = static_cast<std::uint8_t>(device.gid_index);
    a.grh.hop_limit = hop_limit;
  }
  return a;
}

bool to_init(ibv_qp* qp, std::uint8_t port) noexcept {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = port;
  a.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  return libibverbs().modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0;
}

bool to_ready_to_receive(ibv_qp* qp, const opened& device, const endpoint& self, const endpoint& peer,
                         std::uint32_t their_qpn, std::uint32_t their_psn) noexcept {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = static_cast<ibv_mtu>(std::min(self.mtu, peer.mtu));
  a.dest_qp_num = their_qpn;
  a.rq_psn = their_psn;
  a.max_dest_rd_atomic = static_cast<std::uint8_t>(std::min<std::uint32_t>(self.reads_answered, 255));
  a.min_rnr_timer = not_ready_pause;
  a.ah_attr = route_to(device, peer);
  return libibverbs().modify_qp(qp, &a,
                                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0;
}

bool to_ready_to_send(ibv_qp* qp, std::uint32_t psn, std::uint32_t reads) noexcept {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTS;
  a.sq_psn = psn;
  a.timeout = answer_timeout;
  a.retry_cnt = tries;
  a.rnr_retry = wait_for_receives_for_ever;
  a.max_rd_atomic = static_cast<std::uint8_t>(std::min<std::uint32_t>(reads, 255));
  return libibverbs().modify_qp(qp, &a,
                                IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                    IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

wireup::wireup(const opened& device, ibv_pd* pd, ibv_cq* notices, ibv_srq* srq, int rank)
    : device_(device),
      pd_(pd),
      notices_(notices),
      srq_(srq),
      rank_(rank),
      memory_((receives + sends) * slot_bytes),
      mr_(libibverbs().reg_mr(pd, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE)),
      channel_(libibverbs().create_comp_channel(device.device.get())) {
  if (mr_ == nullptr || channel_ == nullptr) cannot("preparing for connections", device_);
  receive_cq_.reset(libibverbs().create_cq(device.device.get(), receives, nullptr, channel_.get(), 0));
  send_cq_.reset(libibverbs().create_cq(device.device.get(), sends, nullptr, nullptr, 0));
  if (receive_cq_ == nullptr || send_cq_ == nullptr) cannot("making a completion queue", device_);
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_UD;
  init.send_cq = send_cq_.get();
  init.recv_cq = receive_cq_.get();
  init.cap = {sends, receives, 1, 1, 0};
  datagrams_.reset(libibverbs().create_qp(pd, &init));
  if (datagrams_ == nullptr) cannot("making the datagram queue pair", device_);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = device.port;
  a.qkey = q_key;
  bool ok =
      libibverbs().modify_qp(datagrams_.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0;
  a = {};
  a.qp_state = IBV_QPS_RTR;
  ok = ok && libibverbs().modify_qp(datagrams_.get(), &a, IBV_QP_STATE) == 0;
  a = {};
  a.qp_state = IBV_QPS_RTS;
  ok = ok && libibverbs().modify_qp(datagrams_.get(), &a, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0;
  if (!ok) cannot("starting the datagram queue pair", device_);
  for (int i = 0; i < receives; ++i) receive_again(i);
  self_ = {device.gid,
           datagrams_->qp_num,
           device.port_attributes.lid,
           static_cast<std::uint8_t>(device.port_attributes.active_mtu),
           static_cast<std::uint8_t>(device.port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET),
           static_cast<std::uint32_t>(std::max(device.attributes.max_qp_rd_atom, 1))};
  fcntl(device.device->async_fd, F_SETFL, fcntl(device.device->async_fd, F_GETFL) | O_NONBLOCK);
  fcntl(channel_->fd, F_SETFL, fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  stop_fd_ = eventfd(0, EFD_CLOEXEC);
  if (stop_fd_ < 0) cannot("making an event descriptor", device_);
}

wireup::~wireup() {
  const std::uint64_t one = 1;
  if (thread_.joinable()) {
    const ssize_t written = write(stop_fd_, &one, sizeof one);
    (void)written;
    thread_.join();
  }
  ::close(stop_fd_);
}

void wireup::start(const std::vector<endpoint>& peers) {
  peers_ = &peers;
  ibv_req_notify_cq(receive_cq_.get(), 0);
  thread_ = std::thread([this] { serve(); });
}

void wireup::receive_again(int slot) noexcept {
  ibv_sge at{reinterpret_cast<std::uint64_t>(memory_.data()) + static_cast<std::uint64_t>(slot) * slot_bytes,
             slot_bytes, mr_->lkey};
  ibv_recv_wr wr{};
  wr.wr_id = static_cast<std::uint64_t>(slot);
  wr.sg_list = &at;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  ibv_post_recv(datagrams_.get(), &wr, &bad);
}

// How long the thread may sleep: for ever, unless the port is down.
int wireup::patience_ms() noexcept {
  if (port_down_ns_ == 0) return -1;
  const std::uint64_t down = arch::now_ns() - port_down_ns_;
  if (down < port_may_be_down_ns) return static_cast<int>((port_may_be_down_ns - down) / 1'000'000) + 1;
  port_down_ns_ = 0;
  base::log(base::log_level::error, "verbs: port " + std::to_string(device_.port) + " of " + device_.name +
                                        " has been down for 5 seconds; the network of this worker is gone.");
  health_.store(status::domain_lost, std::memory_order_relaxed);
  return -1;
}

void wireup::take_datagrams() noexcept {
  ibv_wc done;
  while (ibv_poll_cq(receive_cq_.get(), 1, &done) == 1) {
    if (done.status != IBV_WC_SUCCESS) continue;
    message m;
    std::memcpy(&m, memory_.data() + done.wr_id * slot_bytes + grh_bytes, sizeof m);
    receive_again(static_cast<int>(done.wr_id));
    if (done.byte_len == grh_bytes + sizeof m) take(m);
  }
}

// Sleeps until a datagram, an event of the device, or the end.
void wireup::serve() noexcept {
  take_datagrams();  // those that came before the first notification was asked for
  pollfd wait[] = {{channel_->fd, POLLIN, 0}, {device_.device->async_fd, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  for (;;) {
    if (poll(wait, std::size(wait), patience_ms()) < 0) continue;
    if ((wait[2].revents & POLLIN) != 0) return;
    if ((wait[1].revents & POLLIN) != 0) take_event();
    if ((wait[0].revents & POLLIN) == 0) continue;
    ibv_cq* from = nullptr;
    void* ignored = nullptr;
    if (libibverbs().get_cq_event(channel_.get(), &from, &ignored) == 0) libibverbs().ack_cq_events(from, 1);
    ibv_req_notify_cq(receive_cq_.get(), 0);  // before the queue is emptied, or one would be missed
    take_datagrams();
  }
}

void wireup::take(const message& m) noexcept {
  if (m.magic != magic || m.rank < 0 || static_cast<std::size_t>(m.rank) >= peers_->size()) return;
  switch (m.what) {
    case kind::request:
      answer_request(m);
      break;
    case kind::reply: {
      const std::lock_guard hold(known_);
      answers_[m.rank] = {m.qpn, m.psn, m.token};
      break;
    }
    case kind::close: {
      const std::lock_guard hold(known_);
      const auto found = responders_.find(m.rank);
      if (found != responders_.end() && found->second.token == m.token) set_aside(m.rank, found->second);
      break;
    }
  }
}

// With known_ held. The worker has yet to take the notices that came by it.
void wireup::set_aside(int rank, responder& r) noexcept {
  if (r.qp == nullptr) return;
  closed_.push_back({rank, std::move(r.qp)});
  closed_count_.store(closed_.size(), std::memory_order_release);
}

void wireup::forget_closed(std::size_t count) noexcept {
  std::vector<closed_responder> gone;  // destroyed outside of the lock: that waits for the device
  const std::lock_guard hold(known_);
  const auto end = closed_.begin() + static_cast<std::ptrdiff_t>(count);
  gone.assign(std::make_move_iterator(closed_.begin()), std::make_move_iterator(end));
  closed_.erase(closed_.begin(), end);
  closed_count_.store(closed_.size(), std::memory_order_release);
}

void wireup::answer_request(const message& m) noexcept {
  message reply{magic, kind::reply, rank_, 0, 0, m.token, 0};
  {
    const std::lock_guard hold(known_);
    responder& r = responders_[m.rank];
    // Of a connection that has been closed or replaced since: the request was repeated, and its repetition came late.
    const auto newer = static_cast<std::int32_t>(m.token - r.token);
    if (r.token != 0 && (newer < 0 || (newer == 0 && r.qp == nullptr))) return;
    if (r.qp == nullptr || newer != 0) {
      set_aside(m.rank, r);
      ibv_qp_init_attr init{};
      init.qp_type = IBV_QPT_RC;
      init.send_cq = send_cq_.get();  // a responder sends nothing of its own
      init.recv_cq = notices_;
      init.srq = srq_;
      init.cap = {1, 0, 1, 0, 0};
      r.qp.reset(libibverbs().create_qp(pd_, &init));
      r.token = m.token;
      r.psn = m.token & 0xffffff;
      const endpoint& peer = (*peers_)[static_cast<std::size_t>(m.rank)];
      if (r.qp == nullptr || !to_init(r.qp.get(), device_.port) ||
          !to_ready_to_receive(r.qp.get(), device_, self_, peer, m.qpn, m.psn)) {
        base::log(base::log_level::error, "verbs: a queue pair for rank " + std::to_string(m.rank) +
                                              " cannot be made on " + device_.name + " (" + std::strerror(errno) +
                                              "); lower TOBI_VERBS_CONNECTIONS.");
        r = {};
        return;
      }
    }
    reply.qpn = r.qp->qp_num;
    reply.psn = r.psn;
  }
  send(m.rank, reply);
}

void wireup::send(int rank, const message& m) noexcept {
  const std::lock_guard hold(sending_);
  ibv_wc done;
  while (ibv_poll_cq(send_cq_.get(), 1, &done) == 1) {
    --under_way_;
    if (done.status == IBV_WC_SUCCESS || health() != status::ok) continue;
    base::log(base::log_level::error, "verbs: " + device_.name + " port " + std::to_string(device_.port) +
                                          " can send no requests to connect any more (" +
                                          libibverbs().wc_status_str(done.status) +
                                          "); the network of this worker is gone.");
    health_.store(status::domain_lost, std::memory_order_relaxed);
  }
  if (under_way_ == sends) return;  // every slot is in use; what matters is repeated
  const endpoint& peer = (*peers_)[static_cast<std::size_t>(rank)];
  owned<ibv_ah>& route = routes_[rank];
  if (route == nullptr) {
    ibv_ah_attr to = route_to(device_, peer);
    route.reset(libibverbs().create_ah(pd_, &to));
    if (route == nullptr) return;  // the request is repeated
  }
  std::byte* at = memory_.data() + (receives + next_send_++ % sends) * slot_bytes;
  std::memcpy(at, &m, sizeof m);
  ibv_sge part{reinterpret_cast<std::uint64_t>(at), sizeof m, mr_->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &part;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {route.get(), peer.datagram_qpn, q_key};
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(datagrams_.get(), &wr, &bad) == 0) ++under_way_;
}

void wireup::request(int rank, std::uint32_t qpn, std::uint32_t psn, std::uint32_t token) noexcept {
  send(rank, {magic, kind::request, rank_, qpn, psn, token, 0});
}

void wireup::close(int rank, std::uint32_t token) noexcept { send(rank, {magic, kind::close, rank_, 0, 0, token, 0}); }

answer wireup::answered(int rank) noexcept {
  const std::lock_guard hold(known_);
  const auto found = answers_.find(rank);
  return found == answers_.end() ? answer{} : found->second;
}

int wireup::sender_of(std::uint32_t qpn) noexcept {
  const std::lock_guard hold(known_);
  for (const auto& [rank, r] : responders_) {
    if (r.qp != nullptr && r.qp->qp_num == qpn) return rank;
  }
  for (const closed_responder& c : closed_) {
    if (c.qp->qp_num == qpn) return c.rank;
  }
  return -1;
}

void wireup::take_event() noexcept {
  ibv_async_event event;
  if (libibverbs().get_async_event(device_.device.get(), &event) != 0) return;
  const std::string what = libibverbs().event_type_str(event.event_type);
  const std::string text = "verbs: " + device_.name + " reports: " + what;
  switch (event.event_type) {
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE:
      if (event.element.port_num != device_.port) break;
      base::log(base::log_level::warn, text + " (port " + std::to_string(device_.port) + ").");
      if (event.event_type == IBV_EVENT_PORT_ACTIVE) {
        port_down_ns_ = 0;
      } else if (port_down_ns_ == 0) {
        port_down_ns_ = arch::now_ns();
      }
      break;
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
      base::log(base::log_level::error, text + "; the network of this worker is gone.");
      health_.store(status::domain_lost, std::memory_order_relaxed);
      break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      // The queue pair is in error. The initiator is told by its next completion, which names the peer; a responder
      // hears of it here alone.
      if (const int sender = sender_of(event.element.qp->qp_num); sender >= 0) {
        base::log(base::log_level::warn, text + ", caused by an operation of rank " + std::to_string(sender) + ".");
      } else {
        base::log(base::log_level::info, text + " on queue pair " + std::to_string(event.element.qp->qp_num) + ".");
      }
      break;
    default:
      base::log(base::log_level::info, text + ".");
  }
  libibverbs().ack_async_event(&event);
}

}  // namespace tobi::transports::verbs
