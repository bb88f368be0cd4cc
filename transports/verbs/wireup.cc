// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/wireup.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "arch/clock.hpp"
#include "arch/topology.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/secret.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/base/thread.hpp"

namespace tobi::transports::verbs {

namespace {

constexpr std::size_t grh_bytes = 40;
constexpr std::uint64_t close_again_ns = 100'000'000;
constexpr unsigned closes_at_most = 50;
constexpr std::uint64_t port_may_be_down_ns = 5'000'000'000;  // a switch that starts anew, a cable that is moved

[[noreturn]] void cannot(const char* what, const opened& device) {
  base::fatal(std::string("verbs: ") + what + " failed on " + device.name + " (" + std::strerror(errno) + ").");
}

}  // namespace

pages::pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (bytes + page - 1) / page * page;
  at_.reset(static_cast<std::byte*>(std::aligned_alloc(page, bytes_)));
  if (at_ == nullptr) base::fatal("verbs: there is no memory for its buffers (" + base::format_size(bytes_) + ").");
  std::memset(at_.get(), 0, bytes_);
}

void wireup::lose_device(const std::string& why) noexcept {
  if (loss_told_.exchange(true, std::memory_order_relaxed)) return;
  base::log(base::log_level::error, "verbs: " + device_.name + " port " + std::to_string(device_.port) + ": " + why +
                                        "; the network of this worker is gone (dmesg may say why).");
  // Only now: another thread that finds it ends the job, and the sentence would be lost.
  health_.store(status::domain_lost, std::memory_order_relaxed);
}

wireup::wireup(const opened& device, ibv_pd* pd, ibv_cq* notices, ibv_srq* srq, int rank, std::size_t most_responders,
               notice_keeper& keeper)
    : device_(device),
      pd_(pd),
      notices_(notices),
      srq_(srq),
      rank_(rank),
      most_responders_(most_responders),
      keeper_(keeper),
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
  a.pkey_index = device.pkey_index;
  a.qkey = datagram_q_key;
  bool ok =
      libibverbs().modify_qp(datagrams_.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0;
  a = {};
  a.qp_state = IBV_QPS_RTR;
  ok = ok && libibverbs().modify_qp(datagrams_.get(), &a, IBV_QP_STATE) == 0;
  a = {};
  a.qp_state = IBV_QPS_RTS;
  ok = ok && libibverbs().modify_qp(datagrams_.get(), &a, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0;
  if (!ok) cannot("starting the datagram queue pair", device_);
  for (int i = 0; i < receives; ++i) {
    if (!receive_again(i)) cannot("posting a receive", device_);
  }
  self_ = {device.gid,
           datagrams_->qp_num,
           device.port_attributes.lid,
           static_cast<std::uint8_t>(device.port_attributes.active_mtu),
           static_cast<std::uint8_t>(device.port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET),
           static_cast<std::uint32_t>(std::max(device.attributes.max_qp_rd_atom, 1)),
           base::secret()};
  fcntl(device.device->async_fd, F_SETFL, fcntl(device.device->async_fd, F_GETFL) | O_NONBLOCK);
  fcntl(channel_->fd, F_SETFL, fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) cannot("making an event descriptor", device_);
}

wireup::~wireup() {
  if (thread_.joinable()) {
    stopping_.store(true);
    wake();
    thread_.join();
  }
  ::close(wake_fd_);
  if (strangers_ != 0) {
    base::log(base::log_level::info,
              "verbs: " + std::to_string(strangers_) + " requests to connect were not this job's, and were dropped.");
  }
  if (late_ != 0) {
    base::log(base::log_level::info,
              "verbs: " + std::to_string(late_) + " requests to connect came too late or again, and were dropped.");
  }
}

void wireup::wake() noexcept {
  const std::uint64_t one = 1;
  const ssize_t written = write(wake_fd_, &one, sizeof one);
  (void)written;
}

void wireup::start(const base::per_rank<endpoint>& peers) {
  peers_ = &peers;
  secret_ = peers.front().secret;
  if (ibv_req_notify_cq(receive_cq_.get(), 0) != 0) cannot("asking for notifications", device_);
  thread_ = base::start_thread("accepts connections", [this] { serve(); });
}

bool wireup::receive_again(int slot) noexcept {
  ibv_sge at{reinterpret_cast<std::uint64_t>(memory_.data()) + static_cast<std::uint64_t>(slot) * slot_bytes,
             slot_bytes, mr_->lkey};
  ibv_recv_wr wr{};
  wr.wr_id = static_cast<std::uint64_t>(slot);
  wr.sg_list = &at;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(datagrams_.get(), &wr, &bad) == 0;
}

// How long the thread may sleep: for ever, unless the port is down or a close is to be repeated.
int wireup::patience_ms() noexcept {
  const bool closing_any = [this] {
    const std::lock_guard hold(known_);
    return !closes_.empty();
  }();
  const int until_close = closing_any || too_many_ ? static_cast<int>(close_again_ns / 1'000'000) : -1;
  if (port_down_ns_ == 0) return until_close;
  const std::uint64_t down = arch::now_ns() - port_down_ns_;
  if (down < port_may_be_down_ns) {
    const int until_lost = static_cast<int>((port_may_be_down_ns - down) / 1'000'000) + 1;
    return until_close >= 0 ? std::min(until_close, until_lost) : until_lost;
  }
  port_down_ns_ = 0;
  lose_device("it has been down for 5 seconds");
  return until_close;
}

// Receives that the device has refused to take are tried again with each datagram.
void wireup::receive_refused() noexcept {
  std::erase_if(refused_receives_, [this](int slot) { return receive_again(slot); });
  if (refused_receives_.size() == receives) lose_device("it takes no receives for requests to connect");
}

void wireup::take_datagrams() noexcept {
  ibv_wc done;
  int found = 0;
  while ((found = ibv_poll_cq(receive_cq_.get(), 1, &done)) == 1) {
    if (done.status == IBV_WC_WR_FLUSH_ERR) {  // the queue pair is in error, and no more will come
      lose_device("requests to connect are no longer received");
      return;
    }
    datagram m;
    std::memcpy(&m, memory_.data() + done.wr_id * slot_bytes + grh_bytes, sizeof m);
    refused_receives_.push_back(static_cast<int>(done.wr_id));
    receive_refused();
    if (done.status == IBV_WC_SUCCESS && done.byte_len == grh_bytes + sizeof m) {
      take(m);
    } else {
      ++strangers_;
    }
  }
  if (found < 0) lose_device("its completion queue of requests to connect cannot be read");
}

// Sleeps until a datagram, an event of the device, or the end.
void wireup::serve() noexcept {
  arch::bind_to_all_cores();  // not to the worker's alone, whose computation a request would interrupt
  take_datagrams();           // those that came before the first notification was asked for
  pollfd wait[] = {{channel_->fd, POLLIN, 0}, {device_.device->async_fd, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  for (;;) {
    if (poll(wait, std::size(wait), patience_ms()) < 0) continue;
    if ((wait[2].revents & POLLIN) != 0) {
      std::uint64_t ignored = 0;
      const ssize_t got = read(wake_fd_, &ignored, sizeof ignored);
      (void)got;
    }
    // Behind the read, which may have taken the destructor's call together with an earlier one.
    if (stopping_.load()) return;
    repeat_closes();
    thin_out();
    if ((wait[1].revents & POLLIN) != 0) take_event();
    if ((wait[0].revents & POLLIN) == 0) continue;
    ibv_cq* from = nullptr;
    void* ignored = nullptr;
    if (libibverbs().get_cq_event(channel_.get(), &from, &ignored) == 0) libibverbs().ack_cq_events(from, 1);
    // Before the queue is emptied, or one would be missed.
    if (ibv_req_notify_cq(receive_cq_.get(), 0) != 0) lose_device("it no longer reports requests to connect");
    take_datagrams();
    thin_out();
  }
}

datagram wireup::make(kind what, std::uint32_t token) const noexcept {
  return {datagram_magic, secret_, what, rank_, 0, 0, token, 0};
}

void wireup::take(const datagram& m) noexcept {
  if (m.magic != datagram_magic || m.secret != secret_ || m.rank < 0 ||
      static_cast<std::size_t>(m.rank) >= peers_->size()) {
    ++strangers_;
    return;
  }
  switch (m.what) {
    case kind::request:
      answer_request(m);
      break;
    case kind::reply: {
      const std::lock_guard hold(known_);
      answers_[m.rank] = {m.qpn, m.psn, m.token};
      break;
    }
    case kind::close:
      close_responder(m);
      break;
    case kind::closed: {
      const std::lock_guard hold(known_);
      const auto found = closes_.find(m.rank);
      if (found != closes_.end() && found->second.token == m.token) closes_.erase(found);
      break;
    }
    case kind::leave: {
      const std::lock_guard hold(known_);
      leaves_[m.rank] = m.token;
      asked_to_leave_.store(true, std::memory_order_relaxed);  // the lock orders the rest
      break;
    }
  }
}

void wireup::repeat_closes() noexcept {
  const std::uint64_t now = arch::now_ns();
  std::vector<std::pair<int, std::uint32_t>> again;
  {
    const std::lock_guard hold(known_);
    for (auto at = closes_.begin(); at != closes_.end();) {
      if (at->second.again_ns > now) {
        ++at;
      } else if (at->second.sent == closes_at_most) {
        at = closes_.erase(at);  // the peer is gone, and its queue pairs with it
      } else {
        ++at->second.sent;
        at->second.again_ns = now + close_again_ns;
        again.emplace_back(at->first, at->second.token);
        ++at;
      }
    }
  }
  for (const auto& [rank, token] : again) send(rank, make(kind::close, token));
}

void wireup::send(int rank, const datagram& m) noexcept {
  const std::lock_guard hold(sending_);
  ibv_wc done;
  int found = 0;
  while ((found = ibv_poll_cq(send_cq_.get(), 1, &done)) == 1) {
    --under_way_;
    if (done.status != IBV_WC_SUCCESS) {
      lose_device("no requests to connect can be sent any more: " +
                  std::string(libibverbs().wc_status_str(done.status)));
    }
  }
  if (found < 0) lose_device("its completion queue of requests to connect cannot be read");
  if (under_way_ == sends) return;  // every slot is in use; what matters is repeated
  const endpoint& peer = (*peers_)[rank];
  owned<ibv_ah>& route = routes_[rank];
  if (route == nullptr) {
    ibv_ah_attr to = route_to(device_, peer);
    route.reset(libibverbs().create_ah(pd_, &to));
    if (route == nullptr) {  // the request is repeated
      if (!routes_warned_) {
        base::log(base::log_level::warn, "verbs: no way to rank " + std::to_string(rank) + " is found on " +
                                             device_.name + " (" + std::strerror(errno) + "); still trying.");
      }
      routes_warned_ = true;
      return;
    }
  }
  std::byte* at = memory_.data() + (receives + next_send_++ % sends) * slot_bytes;
  std::memcpy(at, &m, sizeof m);
  ibv_sge part{reinterpret_cast<std::uint64_t>(at), sizeof m, mr_->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &part;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {route.get(), peer.datagram_qpn, datagram_q_key};
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(datagrams_.get(), &wr, &bad); error == 0) {
    ++under_way_;
  } else if (!std::exchange(refusal_warned_, true)) {  // it is repeated too
    base::log(base::log_level::warn, "verbs: " + device_.name + " has refused to send a request to connect (" +
                                         std::strerror(error) + "); still trying.");
  }
}

void wireup::request(int rank, std::uint32_t qpn, std::uint32_t psn, std::uint32_t token) noexcept {
  datagram asks = make(kind::request, token);
  asks.qpn = qpn;
  asks.psn = psn;
  send(rank, asks);
}

void wireup::close(int rank, std::uint32_t token) noexcept {
  {
    const std::lock_guard hold(known_);
    closes_[rank] = {token, 1, arch::now_ns() + close_again_ns};
  }
  wake();  // to repeat it in time
  send(rank, make(kind::close, token));
}

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
      lose_device("the device reports: " + what);
      break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      // The queue pair is in error. The initiator is told by its next completion, which names the peer; a responder
      // hears of it here alone.
      if (event.element.qp == datagrams_.get()) {
        lose_device("the device reports: " + what + ", of the queue pair for requests to connect");
      } else if (const int sender = sender_of(event.element.qp->qp_num); sender >= 0) {
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
