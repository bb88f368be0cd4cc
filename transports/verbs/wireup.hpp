// Connections on first use. An unreliable-datagram queue pair carries the requests, and a thread that sleeps until one
// comes answers them, so a worker that computes for hours can be connected to. The same thread hears the device's
// asynchronous events.
//
// A connection has a direction: the initiator's queue pair posts, the responder's only answers. So closing one is the
// initiator's affair alone. Datagrams may be lost or come twice: requests are repeated until they are answered, and
// answered again when they are repeated (the token tells them apart).
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "transports/verbs/device.hpp"

namespace tobi::transports::verbs {

/// What address() holds.
struct endpoint {
  union ibv_gid gid;
  std::uint32_t datagram_qpn;
  std::uint16_t lid;
  std::uint8_t mtu;
  std::uint8_t is_ethernet;
  std::uint32_t reads_answered;  // READs and atomics that a responder here may have under way a queue pair
};

/// The responder's half of a connection, as the initiator needs it.
struct answer {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::uint32_t token = 0;  // 0: no answer yet
};

/// Closes what libibverbs opened.
struct release {
  void operator()(ibv_pd* p) const { libibverbs().dealloc_pd(p); }
  void operator()(ibv_mr* m) const { libibverbs().dereg_mr(m); }
  void operator()(ibv_cq* c) const { libibverbs().destroy_cq(c); }
  void operator()(ibv_qp* q) const { libibverbs().destroy_qp(q); }
  void operator()(ibv_srq* s) const { libibverbs().destroy_srq(s); }
  void operator()(ibv_ah* a) const { libibverbs().destroy_ah(a); }
  void operator()(ibv_comp_channel* c) const { libibverbs().destroy_comp_channel(c); }
};
template <class T>
using owned = std::unique_ptr<T, release>;

/// The attributes of the two ends, from each other's endpoint.
ibv_ah_attr route_to(const opened& device, const endpoint& peer) noexcept;
bool to_init(ibv_qp* qp, std::uint8_t port) noexcept;
bool to_ready_to_receive(ibv_qp* qp, const opened& device, const endpoint& self, const endpoint& peer,
                         std::uint32_t their_qpn, std::uint32_t their_psn) noexcept;
bool to_ready_to_send(ibv_qp* qp, std::uint32_t psn, std::uint32_t reads) noexcept;

class wireup {
 public:
  /// Responders answer with queue pairs on PD; notices come to SRQ and CQ.
  wireup(const opened& device, ibv_pd* pd, ibv_cq* notices, ibv_srq* srq, int rank);
  ~wireup();
  wireup(const wireup&) = delete;
  wireup& operator=(const wireup&) = delete;

  [[nodiscard]] const endpoint& self() const noexcept { return self_; }
  /// Starts to answer. PEERS, by rank, outlives this.
  void start(const std::vector<endpoint>& peers);
  /// Sends, or repeats, the request of a connection whose own half is QPN.
  void request(int rank, std::uint32_t qpn, std::uint32_t psn, std::uint32_t token) noexcept;
  /// The peer's half of the connection with TOKEN, once it is known.
  [[nodiscard]] answer answered(int rank) noexcept;
  void close(int rank, std::uint32_t token) noexcept;
  /// Who sends, or sent, notices on the queue pair QPN of this worker.
  [[nodiscard]] int sender_of(std::uint32_t qpn) noexcept;
  /// Responders' queue pairs that their initiators have closed. They last until the worker, who has taken their notices
  /// off the queue, forgets the first COUNT of them.
  [[nodiscard]] std::size_t closed() const noexcept { return closed_count_.load(std::memory_order_acquire); }
  void forget_closed(std::size_t count) noexcept;

  /// Not ok when the device or its port is gone.
  [[nodiscard]] status health() const noexcept { return health_.load(std::memory_order_relaxed); }

 private:
  enum class kind : std::uint32_t { request, reply, close };
  struct message {
    std::uint64_t magic;
    kind what;
    std::int32_t rank;
    std::uint32_t qpn, psn, token, unused;
  };
  struct responder {
    owned<ibv_qp> qp;
    std::uint32_t psn = 0;
    std::uint32_t token = 0;  // the highest that came: what is older came late, or twice
  };
  struct closed_responder {
    int rank;
    owned<ibv_qp> qp;
  };
  static constexpr int receives = 256;
  static constexpr int sends = 64;
  static constexpr std::size_t slot_bytes = 128;  // GRH of 40 bytes, then a message

  void serve() noexcept;
  void take_datagrams() noexcept;
  void set_aside(int rank, responder& r) noexcept;
  [[nodiscard]] int patience_ms() noexcept;
  void receive_again(int slot) noexcept;
  void send(int rank, const message& m) noexcept;
  void take(const message& m) noexcept;
  void answer_request(const message& m) noexcept;
  void take_event() noexcept;

  const opened& device_;
  ibv_pd* pd_;
  ibv_cq* notices_;
  ibv_srq* srq_;
  int rank_;
  endpoint self_{};
  const std::vector<endpoint>* peers_ = nullptr;
  std::vector<std::byte> memory_;
  owned<ibv_mr> mr_;
  owned<ibv_comp_channel> channel_;
  owned<ibv_cq> receive_cq_;
  owned<ibv_cq> send_cq_;
  owned<ibv_qp> datagrams_;
  std::mutex sending_;  // worker and thread both send
  unsigned next_send_ = 0;
  unsigned under_way_ = 0;
  std::map<int, owned<ibv_ah>> routes_;
  std::mutex known_;  // what follows, down to the closed ones
  std::map<int, answer> answers_;
  std::map<int, responder> responders_;
  std::vector<closed_responder> closed_;
  std::atomic<std::size_t> closed_count_{0};
  std::uint64_t port_down_ns_ = 0;  // since when; 0: it is up
  std::atomic<status> health_{status::ok};
  int stop_fd_ = -1;
  std::thread thread_;
};

}  // namespace tobi::transports::verbs
