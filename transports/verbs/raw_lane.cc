// SPDX-License-Identifier: Apache-2.0
// libibverbs' own calls: one RC queue pair per rank, ibv_post_send and a loop on ibv_poll_cq. The device is that of
// TOBI_VERBS_DEVICE (with commas: rank r takes entry r, from the beginning again), or the first with an active port.
// The best loops post the requests of a window in lists, one doorbell each, and take the completions of pings in lots.
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "libcore/base/log.hpp"
#include "tools/perf/lane.hpp"
#include "transports/verbs/raw_lane_names.hpp"
#include "transports/verbs/settings.hpp"

namespace tobi_perf {

namespace {

namespace base = tobi::base;

constexpr std::uint32_t queue_depth = 256;
constexpr std::uint32_t signal_every = 32;  // a completion for so many operations of a window
constexpr std::uint32_t inline_wanted = 64;

template <auto Close>
struct closer {
  template <class T>
  void operator()(T* it) const noexcept {
    Close(it);
  }
};
using device_list = std::unique_ptr<ibv_device*, closer<ibv_free_device_list>>;
using context_ptr = std::unique_ptr<ibv_context, closer<ibv_close_device>>;
using domain_ptr = std::unique_ptr<ibv_pd, closer<ibv_dealloc_pd>>;
using cq_ptr = std::unique_ptr<ibv_cq, closer<ibv_destroy_cq>>;
using region_ptr = std::unique_ptr<ibv_mr, closer<ibv_dereg_mr>>;
using qp_ptr = std::unique_ptr<ibv_qp, closer<ibv_destroy_qp>>;

// What the other rank must know.
struct card {
  std::uint32_t ok = 0;
  std::uint32_t qp = 0;
  ibv_gid gid{};
  std::uint16_t lid = 0;
  std::uint32_t mtu = 0;
  std::uint32_t reads = 0;  // reads and atomics that it serves at a time
  std::uint32_t key = 0;
  std::uint64_t base = 0;
};

class raw_verbs_lane final : public lane {
 public:
  raw_verbs_lane(const scene& s, calls by) : s_(s), in_lots_(by == calls::best) {}

  /// "" or what failed.
  std::string open();
  std::string reach(const card& theirs);
  [[nodiscard]] card self() const { return mine_; }

  std::string describe() const override {
    return fmt::format("libibverbs on {} port {}{}, one RC queue pair{}", ibv_get_device_name(context_->device), port_,
                       gid_index_ < 0 ? "" : fmt::format(" GID {}", gid_index_),
                       in_lots_ ? fmt::format(", {} requests per doorbell", signal_every) : "");
  }
  std::string unable(const work& w) const override;
  void start(const work& w) override {
    ping_ = 0;
    set_last_byte(s_.at(s_.where.data), w.bytes, 0);
  }
  bool initiate(const work& w, std::uint64_t count) override;
  void respond(const work& w, const stop_flag& stop) override;

 private:
  std::string open_device();
  std::string open_port();
  std::string open_queue();
  [[noreturn]] static void give_up(const std::string& what) { base::fatal("raw libibverbs: " + what + "."); }

  // A request with the place for its bytes; the caller adds what is left.
  ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge& sge, std::uint64_t local, std::uint64_t bytes,
                      std::uint64_t remote) const noexcept {
    sge = {reinterpret_cast<std::uint64_t>(s_.at(local)), static_cast<std::uint32_t>(bytes), region_->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    if (opcode == IBV_WR_RDMA_WRITE && bytes <= inline_max_) wr.send_flags |= IBV_SEND_INLINE;
    wr.wr.rdma.remote_addr = remote_ + remote;
    wr.wr.rdma.rkey = remote_key_;
    return wr;
  }
  ibv_send_wr swap_request(ibv_sge& sge) const noexcept {
    ibv_send_wr wr = request(IBV_WR_ATOMIC_CMP_AND_SWP, sge, layout::result, 8, layout::word);
    wr.wr.atomic.remote_addr = remote_ + layout::word;
    wr.wr.atomic.rkey = remote_key_;
    return wr;
  }
  void post(ibv_send_wr& first) noexcept {
    ibv_send_wr* bad = nullptr;
    if (const int code = ibv_post_send(qp_.get(), &first, &bad))
      give_up(std::string("ibv_post_send: ") + std::strerror(code));
  }
  // Waits for one completion.
  bool wait() noexcept {
    patience p(s_.limit_ns);
    ibv_wc done;
    int n;
    while ((n = ibv_poll_cq(cq_.get(), 1, &done)) == 0) {
      if (p.over()) return false;
    }
    if (n < 0) give_up("ibv_poll_cq failed");
    if (done.status != IBV_WC_SUCCESS) give_up(std::string("an operation failed: ") + ibv_wc_status_str(done.status));
    return true;
  }
  // Returns whether there will be a completion: the reply tells of the others.
  bool post_ping(ibv_send_wr& one) noexcept {
    const bool signals = !in_lots_ || ++unsignalled_ == signal_every;
    one.send_flags &= ~static_cast<unsigned>(IBV_SEND_SIGNALED);
    if (signals) one.send_flags |= IBV_SEND_SIGNALED;
    if (signals) unsignalled_ = 0;
    post(one);
    return signals;
  }
  bool repeat(ibv_send_wr& one, std::uint64_t count) noexcept {
    for (std::uint64_t i = 0; i < count; ++i) {
      post(one);
      if (!wait()) return false;
    }
    return true;
  }
  bool swaps(std::uint64_t count, std::uint64_t bytes) noexcept;
  bool window(const work& w, std::uint64_t count) noexcept;
  bool pings(std::uint64_t bytes, std::uint64_t count) noexcept;
  [[nodiscard]] const auto& wish() const { return s_.settings.of<tobi::transports::verbs::settings>(); }

  const scene& s_;
  bool in_lots_;
  std::uint32_t unsignalled_ = 0;  // pings since the last one that was waited for
  context_ptr context_;
  domain_ptr domain_;
  cq_ptr cq_;
  region_ptr region_;
  qp_ptr qp_;  // last: it goes before what it uses
  ibv_device_attr device_{};
  ibv_port_attr port_facts_{};
  std::uint8_t port_ = 1;
  int gid_index_ = -1;  // -1: an InfiniBand port, reached by its LID
  std::uint32_t inline_max_ = 0;
  card mine_;
  std::uint64_t remote_ = 0;
  std::uint32_t remote_key_ = 0;
  std::uint64_t expected_ = 0;
  std::uint8_t ping_ = 0;
};

std::string failed(const char* call) { return fmt::format("{}: {}", call, std::strerror(errno)); }

std::string raw_verbs_lane::open_device() {
  int count = 0;
  const device_list all(ibv_get_device_list(&count));
  const std::string wanted = entry_of(wish().device, s_.job.rank());
  for (int i = 0; all != nullptr && i < count; ++i) {
    ibv_device* const d = all.get()[i];
    if (!wanted.empty() && wanted != ibv_get_device_name(d)) continue;
    context_.reset(ibv_open_device(d));
    if (context_ == nullptr || ibv_query_device(context_.get(), &device_) != 0) continue;
    for (int port = 1; port <= device_.phys_port_cnt; ++port) {
      if (wish().port != 0 && port != wish().port) continue;
      port_ = static_cast<std::uint8_t>(port);
      if (ibv_query_port(context_.get(), port_, &port_facts_) == 0 && port_facts_.state == IBV_PORT_ACTIVE) return "";
    }
  }
  return wanted.empty() ? "there is no RDMA device with an active port"
                        : "there is no RDMA device " + wanted + " with an active port";
}

std::string raw_verbs_lane::open_port() {
  if (port_facts_.link_layer != IBV_LINK_LAYER_ETHERNET) return "";
  gid_index_ = wish().gid_index >= 0 ? wish().gid_index : find_gid(context_.get(), port_, port_facts_.gid_tbl_len);
  if (gid_index_ < 0) return "the port has no RoCE v2 address; TOBI_VERBS_GID_INDEX names another";
  return ibv_query_gid(context_.get(), port_, gid_index_, &mine_.gid) == 0 ? "" : failed("ibv_query_gid");
}

std::string raw_verbs_lane::open_queue() {
  domain_.reset(ibv_alloc_pd(context_.get()));
  if (domain_ == nullptr) return failed("ibv_alloc_pd");
  cq_.reset(ibv_create_cq(context_.get(), queue_depth, nullptr, nullptr, 0));
  if (cq_ == nullptr) return failed("ibv_create_cq");
  const bool atomics = device_.atomic_cap != IBV_ATOMIC_NONE;
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                     (atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0);
  region_.reset(ibv_reg_mr(domain_.get(), s_.own.base, s_.own.bytes, access));
  if (region_ == nullptr) return failed("ibv_reg_mr") + " (ulimit -l may be too small)";
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq_.get();
  init.qp_type = IBV_QPT_RC;
  init.cap = {queue_depth, 1, 1, 1, inline_wanted};
  qp_.reset(ibv_create_qp(domain_.get(), &init));
  if (qp_ == nullptr) {
    init.cap = {queue_depth, 1, 1, 1, 0};
    qp_.reset(ibv_create_qp(domain_.get(), &init));
  }
  if (qp_ == nullptr) return failed("ibv_create_qp");
  inline_max_ = init.cap.max_inline_data;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = port_;
  attr.qp_access_flags = static_cast<unsigned>(access);
  if (ibv_modify_qp(qp_.get(), &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
    return failed("ibv_modify_qp to INIT");
  }
  mine_.qp = qp_->qp_num;
  mine_.lid = port_facts_.lid;
  mine_.mtu = port_facts_.active_mtu;
  mine_.reads = static_cast<std::uint32_t>(std::clamp(device_.max_qp_rd_atom, 1, 16));
  mine_.key = region_->rkey;
  mine_.base = reinterpret_cast<std::uint64_t>(s_.own.base);
  mine_.ok = 1;
  return "";
}

std::string raw_verbs_lane::open() {
  std::string why = open_device();
  if (why.empty()) why = open_port();
  return why.empty() ? open_queue() : why;
}

std::string raw_verbs_lane::reach(const card& theirs) {
  remote_ = theirs.base;
  remote_key_ = theirs.key;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = static_cast<ibv_mtu>(std::min(mine_.mtu, theirs.mtu));
  attr.dest_qp_num = theirs.qp;
  attr.max_dest_rd_atomic = static_cast<std::uint8_t>(mine_.reads);
  attr.min_rnr_timer = 12;
  attr.ah_attr.dlid = theirs.lid;
  attr.ah_attr.port_num = port_;
  if (gid_index_ >= 0) {
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = theirs.gid;
    attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index_);
    attr.ah_attr.grh.hop_limit = 64;
  }
  if (ibv_modify_qp(qp_.get(), &attr,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0) {
    return failed("ibv_modify_qp to RTR");
  }
  attr = {};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = static_cast<std::uint8_t>(theirs.reads);
  if (ibv_modify_qp(qp_.get(), &attr,
                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                        IBV_QP_MAX_QP_RD_ATOMIC) != 0) {
    return failed("ibv_modify_qp to RTS");
  }
  return "";
}

std::string raw_verbs_lane::unable(const work& w) const {
  if (w.what == step::notify || w.what == step::fresh || w.what == step::wake) return no_raw_loop;
  if (is_atomic(w.what) && device_.atomic_cap == IBV_ATOMIC_NONE) return "the device has no atomics";
  return w.bytes > port_facts_.max_msg_sz ? "the port's largest message is smaller" : "";
}

// A compare-and-swap alone, or with BYTES the three requests behind one doorbell.
bool raw_verbs_lane::swaps(std::uint64_t count, std::uint64_t bytes) noexcept {
  std::array<ibv_sge, 3> sges;
  std::array<ibv_send_wr, 3> wrs{swap_request(sges[0]),
                                 request(IBV_WR_RDMA_READ, sges[1], layout::result + 8, 8, layout::word),
                                 request(IBV_WR_RDMA_READ, sges[2], s_.where.local, bytes, layout::data)};
  if (bytes != 0) {
    wrs[0].next = &wrs[1];
    wrs[1].next = &wrs[2];
    wrs[0].send_flags = wrs[1].send_flags = 0;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    wrs[0].wr.atomic.compare_add = expected_;
    wrs[0].wr.atomic.swap = expected_ + 1;
    post(wrs[0]);
    if (!wait()) return false;
    const std::uint64_t found = *s_.word_at(layout::result);
    expected_ = found == expected_ ? expected_ + 1 : found;
  }
  return true;
}

bool raw_verbs_lane::window(const work& w, std::uint64_t count) noexcept {
  const ibv_wr_opcode opcode = w.what == step::get_window ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
  const std::uint64_t places = layout::places(w.bytes);
  const std::uint64_t stride = layout::stride(w.bytes);
  std::array<ibv_sge, signal_every> sges;
  std::array<ibv_send_wr, signal_every> lot;
  std::uint64_t signals = 0;  // of which no completion has been taken
  std::uint64_t place = 0;
  for (std::uint64_t i = 0; i < count;) {
    // Pings without a completion may still have places in the queue.
    if ((signals + 2) * signal_every > queue_depth) {
      if (!wait()) return false;
      --signals;
    }
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(signal_every, count - i));
    for (std::size_t k = 0; k < n; ++k) {
      lot[k] = request(opcode, sges[k], s_.where.local + place * stride, w.bytes, layout::data + place * stride);
      const bool is_last = k + 1 == n;
      if (!is_last) lot[k].send_flags &= ~static_cast<unsigned>(IBV_SEND_SIGNALED);
      if (!is_last && in_lots_) lot[k].next = &lot[k + 1];
      if (!in_lots_) post(lot[k]);
      if (++place == places) place = 0;
    }
    if (in_lots_) post(lot[0]);
    i += n;
    ++signals;
  }
  for (; signals > 0; --signals) {
    if (!wait()) return false;
  }
  return true;
}

bool raw_verbs_lane::pings(std::uint64_t bytes, std::uint64_t count) noexcept {
  ibv_sge sge;
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, sge, s_.where.local, bytes, layout::data);
  for (std::uint64_t i = 0; i < count; ++i) {
    ping_ = after(ping_);
    set_last_byte(s_.at(s_.where.local), bytes, ping_);
    const bool signals = post_ping(wr);
    patience p(s_.limit_ns);
    while (last_byte(s_.at(layout::data), bytes) != ping_) {
      if (p.over()) return false;
    }
    if (signals && !wait()) return false;
  }
  return true;
}

bool raw_verbs_lane::initiate(const work& w, std::uint64_t count) {
  ibv_sge sge;
  switch (w.what) {
    case step::get: {
      ibv_send_wr wr = request(IBV_WR_RDMA_READ, sge, s_.where.local, w.bytes, layout::data);
      return repeat(wr, count);
    }
    case step::put: {
      ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, sge, s_.where.local, w.bytes, layout::data);
      return repeat(wr, count);
    }
    case step::fetch_add: {
      ibv_send_wr wr = swap_request(sge);
      wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
      wr.wr.atomic.compare_add = 1;
      return repeat(wr, count);
    }
    case step::compare_swap:
      return swaps(count, 0);
    case step::chain:
      return swaps(count, w.bytes);
    case step::get_window:
    case step::put_window:
      return window(w, count);
    case step::ping_pong:
      return pings(w.bytes, count);
    case step::fresh:
    case step::notify:
    case step::wake:
      break;
  }
  return false;
}

void raw_verbs_lane::respond(const work& w, const stop_flag& stop) {
  if (w.what != step::ping_pong) {  // the device replies
    while (stop.load(std::memory_order_relaxed) == 0) tobi::arch::pause();
    return;
  }
  ibv_sge sge;
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, sge, s_.where.local, w.bytes, layout::data);
  for (std::uint8_t ping = 1;; ping = after(ping)) {
    while (last_byte(s_.at(layout::data), w.bytes) != ping) {
      if (stop.load(std::memory_order_relaxed) != 0) return;
    }
    set_last_byte(s_.at(s_.where.local), w.bytes, ping);
    if (post_ping(wr) && !wait()) give_up("a reply was not completed in time");
  }
}

const raw_loop here("verbs", [](const scene& s, calls by, std::string& why_not) {
  return connected<raw_verbs_lane>(s, by, "libibverbs", why_not);
});

}  // namespace

}  // namespace tobi_perf
