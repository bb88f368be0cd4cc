// SPDX-License-Identifier: Apache-2.0
// Connections on first use. An unreliable-datagram queue pair carries the requests, and a thread that sleeps until one
// comes replies to them, so a worker that computes for hours can be connected to. The same thread hears the device's
// asynchronous events.
//
// A connection has a direction: the initiator's queue pair posts, the responder's only replies. So closing one is the
// initiator's affair alone. Datagrams may be lost or come twice: requests and closes are repeated until a reply comes,
// and replied to again when they are repeated (the token tells them apart).
//
// A responder's queue pair goes when its close comes, whatever the worker does: one that computes for minutes would
// else keep those of all ranks that come and go. Where others have more connections to a worker than MOST_RESPONDERS,
// it asks the owners of the oldest to leave, and each closes its own when nothing is under way on it. So what a worker
// has is bounded on both sides, but for connections of workers that compute and hear of nothing: those last until they
// look.
#pragma once

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "libcore/base/per_rank.hpp"
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
  std::uint64_t secret;          // rank 0's is the job's
};

/// What a datagram holds. Any process that reaches the port can send one: the secret, which the ranks have from their
/// launcher, tells this job's from those of others, and of an earlier job whose queue pair had the same number.
struct datagram {
  enum class kind : std::uint32_t { request, reply, close, closed, leave };
  std::uint64_t magic;
  std::uint64_t secret;
  kind what;
  std::int32_t rank;
  std::uint32_t qpn, psn, token;
  std::uint32_t unused;
};
inline constexpr std::uint64_t datagram_magic = 0x746f62692d767262;  // "tobi-vrb"
inline constexpr std::uint32_t datagram_q_key = 0x746f6269;

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

/// Memory to register: whole pages of its own. Where fork() copies pages away from a device, libibverbs keeps
/// registered ones from the child (ibv_fork_init), and nothing else of the process may lie on them.
class pages {
 public:
  explicit pages(std::size_t bytes);
  [[nodiscard]] std::byte* data() const noexcept { return at_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

 private:
  struct give_back {
    void operator()(std::byte* at) const { std::free(at); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, give_back> at_;
};

/// The attributes of the two ends, from each other's endpoint. A global header is there where the link is Ethernet,
/// the peer has no local address, or this port requires one.
ibv_ah_attr route_to(const opened& device, const endpoint& peer) noexcept;
bool to_init(ibv_qp* qp, const opened& device) noexcept;
bool to_ready_to_receive(ibv_qp* qp, const opened& device, const endpoint& self, const endpoint& peer,
                         std::uint32_t their_qpn, std::uint32_t their_psn) noexcept;
bool to_ready_to_send(ibv_qp* qp, std::uint32_t psn, std::uint32_t reads) noexcept;

/// Where notices come to. They lie in a queue of the device and go with the queue pair that brought them.
class notice_keeper {
 public:
  virtual ~notice_keeper() = default;
  /// Takes all notices off the device's queue. Called by wireup's thread.
  virtual void keep_notices() noexcept = 0;
};

class wireup {
 public:
  /// Responders answer with queue pairs on PD; notices come to SRQ and CQ, and KEEPER is told before they would be
  /// lost.
  wireup(const opened& device, ibv_pd* pd, ibv_cq* notices, ibv_srq* srq, int rank, std::size_t most_responders,
         notice_keeper& keeper);
  ~wireup();
  wireup(const wireup&) = delete;
  wireup& operator=(const wireup&) = delete;

  [[nodiscard]] const endpoint& self() const noexcept { return self_; }
  /// Starts to reply. PEERS, by rank, outlives this.
  void start(const base::per_rank<endpoint>& peers);
  /// Sends, or repeats, the request of a connection whose own half is QPN.
  void request(int rank, std::uint32_t qpn, std::uint32_t psn, std::uint32_t token) noexcept;
  /// The peer's half of the connection with TOKEN, once it is known.
  [[nodiscard]] answer answered(int rank) noexcept;
  /// Tells the peer that the connection is closed, until it says that it knows; for 5 s at most.
  void close(int rank, std::uint32_t token) noexcept;
  /// Tells it once, of a connection that was closed before.
  void close_again(int rank, std::uint32_t token) noexcept { send(rank, make(kind::close, token)); }
  /// Whether peers have asked for connections to be closed that this worker has to them.
  [[nodiscard]] bool asked_to_leave() const noexcept { return asked_to_leave_.load(std::memory_order_relaxed); }
  /// Which ones: {rank, token}.
  [[nodiscard]] std::map<int, std::uint32_t> take_leaves() noexcept;
  /// Which rank sends notices on the queue pair QPN of this worker; -1: nobody any more.
  [[nodiscard]] int sender_of(std::uint32_t qpn) noexcept;

  /// Not ok when the device or its port is gone.
  [[nodiscard]] status health() const noexcept { return health_.load(std::memory_order_relaxed); }
  /// From now on it is gone; says WHY, once.
  void lose_device(const std::string& why) noexcept;

 private:
  using kind = datagram::kind;
  struct responder {
    owned<ibv_qp> qp;
    std::uint32_t psn = 0;
    std::uint32_t token = 0;     // the highest that came: what is older came late, or twice
    std::uint64_t since = 0;     // which request it was
    std::uint64_t asked_ns = 0;  // when its owner was asked to leave; 0: never
  };
  struct closing {
    std::uint32_t token;
    unsigned sent;  // times
    std::uint64_t again_ns;
  };
  static constexpr int receives = 256;
  static constexpr int sends = 64;
  static constexpr std::size_t slot_bytes = 128;  // GRH of 40 bytes, then a datagram

  void serve() noexcept;
  void take_datagrams() noexcept;
  [[nodiscard]] owned<ibv_qp> replaced(int rank, std::uint32_t token) noexcept;
  void close_responder(const datagram& m) noexcept;
  void repeat_closes() noexcept;
  void wake() noexcept;
  [[nodiscard]] int patience_ms() noexcept;
  bool receive_again(int slot) noexcept;
  void receive_refused() noexcept;
  void send(int rank, const datagram& m) noexcept;
  [[nodiscard]] datagram make(kind what, std::uint32_t token) const noexcept;
  void take(const datagram& m) noexcept;
  void answer_request(const datagram& m) noexcept;
  void thin_out() noexcept;
  void take_event() noexcept;

  const opened& device_;
  ibv_pd* pd_;
  ibv_cq* notices_;
  ibv_srq* srq_;
  int rank_;
  std::size_t most_responders_;
  notice_keeper& keeper_;
  std::uint64_t secret_ = 0;
  endpoint self_{};
  const base::per_rank<endpoint>* peers_ = nullptr;
  pages memory_;
  owned<ibv_mr> mr_;
  owned<ibv_comp_channel> channel_;
  owned<ibv_cq> receive_cq_;
  owned<ibv_cq> send_cq_;
  owned<ibv_qp> datagrams_;
  std::mutex sending_;  // worker and thread both send
  unsigned next_send_ = 0;
  unsigned under_way_ = 0;
  std::map<int, owned<ibv_ah>> routes_;
  bool routes_warned_ = false;
  bool too_many_ = false;  // responders; the thread's
  bool refusal_warned_ = false;
  std::vector<int> refused_receives_;  // slots; the thread's
  std::mutex known_;                   // what follows, down to the closes
  std::map<int, answer> answers_;
  std::map<int, responder> responders_;
  std::map<int, std::uint32_t> leaves_;  // peers that want the connection with that token closed
  std::uint64_t answered_requests_ = 0;
  std::map<int, closing> closes_;   // without a reply; the newest of a peer stands for those before
  std::uint64_t strangers_ = 0;     // datagrams of nobody of this job
  std::uint64_t late_ = 0;          // about connections that others have replaced
  std::uint64_t port_down_ns_ = 0;  // since when; 0: it is up
  std::atomic<status> health_{status::ok};
  std::atomic<bool> loss_told_{false};
  std::atomic<bool> asked_to_leave_{false};
  std::atomic<bool> stopping_{false};
  int wake_fd_ = -1;
  std::thread thread_;
};

}  // namespace tobi::transports::verbs
