// SPDX-License-Identifier: Apache-2.0
// RC queue pairs of two processes over the first RDMA device; the argument is the index of its GID (default: 1). See
// loop.hpp.
#include <infiniband/verbs.h>

#include <cstring>

#include "tests/perf/loops/loop.hpp"

namespace {

constexpr std::size_t large = 64 << 10;
constexpr std::size_t of_target = 4096;
constexpr std::size_t own = of_target + large;
constexpr std::size_t total = own + large;

struct card {
  std::uint32_t queue;
  std::uint16_t lid;
  ibv_gid gid;
  std::uint64_t base;
  std::uint32_t key;
};

struct queue_pair {
  ibv_cq* done = nullptr;
  ibv_qp* qp = nullptr;
  ibv_mr* region = nullptr;
  std::byte* memory = nullptr;
  card theirs{};

  void open(std::uint8_t gid, loops::board& b, int rank);
  void connect(const ibv_port_attr& port, std::uint8_t gid);
  void post(ibv_wr_opcode what, std::size_t here, std::size_t bytes, std::size_t there, bool small) {
    ibv_sge place{reinterpret_cast<std::uint64_t>(memory + here), static_cast<std::uint32_t>(bytes), region->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &place;
    wr.num_sge = 1;
    wr.opcode = what;
    wr.send_flags = IBV_SEND_SIGNALED | (small ? static_cast<unsigned>(IBV_SEND_INLINE) : 0u);
    if (what == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic.remote_addr = theirs.base + there;
      wr.wr.atomic.rkey = theirs.key;
      wr.wr.atomic.compare_add = 1;
    } else {
      wr.wr.rdma.remote_addr = theirs.base + there;
      wr.wr.rdma.rkey = theirs.key;
    }
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(qp, &wr, &bad) != 0) loops::give_up("ibv_post_send");
  }
  void wait() {
    ibv_wc one;
    int n;
    while ((n = ibv_poll_cq(done, 1, &one)) == 0) {
    }
    if (n < 0 || one.status != IBV_WC_SUCCESS) loops::give_up("an operation");
  }
  void get(std::size_t bytes) { post(IBV_WR_RDMA_READ, own, bytes, of_target, false); }
  void put(std::size_t bytes) { post(IBV_WR_RDMA_WRITE, own, bytes, of_target, bytes == 8); }
  [[nodiscard]] std::uint64_t word(std::size_t at) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory + at)).load(std::memory_order_acquire);
  }
  void set(std::uint64_t value) { std::memcpy(memory + own, &value, sizeof value); }
};

void queue_pair::connect(const ibv_port_attr& port, std::uint8_t gid) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = port.active_mtu;
  a.dest_qp_num = theirs.queue;
  a.max_dest_rd_atomic = 1;
  a.min_rnr_timer = 12;
  a.ah_attr.dlid = theirs.lid;
  a.ah_attr.port_num = 1;
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
    a.ah_attr.is_global = 1;
    a.ah_attr.grh.dgid = theirs.gid;
    a.ah_attr.grh.sgid_index = gid;
    a.ah_attr.grh.hop_limit = 64;
  }
  if (ibv_modify_qp(qp, &a,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0) {
    loops::give_up("ibv_modify_qp to RTR");
  }
  a = {};
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 14;
  a.retry_cnt = 7;
  a.rnr_retry = 7;
  a.max_rd_atomic = 1;
  if (ibv_modify_qp(qp, &a,
                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                        IBV_QP_MAX_QP_RD_ATOMIC) != 0) {
    loops::give_up("ibv_modify_qp to RTS");
  }
}

void queue_pair::open(std::uint8_t gid, loops::board& b, int rank) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr || count == 0) loops::give_up("finding an RDMA device");
  ibv_context* context = ibv_open_device(devices[0]);
  ibv_port_attr port{};
  if (context == nullptr || ibv_query_port(context, 1, &port) != 0) loops::give_up("opening the device");
  ibv_pd* domain = ibv_alloc_pd(context);
  done = ibv_create_cq(context, 64, nullptr, nullptr, 0);
  memory = static_cast<std::byte*>(loops::shared_memory(total));
  std::memset(memory, 0, total);
  const int access =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  region = ibv_reg_mr(domain, memory, total, access);
  if (region == nullptr) loops::give_up("ibv_reg_mr");
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = done;
  init.qp_type = IBV_QPT_RC;
  init.cap = {32, 1, 1, 1, 64};
  qp = ibv_create_qp(domain, &init);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qp_access_flags = static_cast<unsigned>(access);
  if (qp == nullptr ||
      ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
    loops::give_up("making a queue pair");
  }
  card mine{qp->qp_num, port.lid, {}, reinterpret_cast<std::uint64_t>(memory), region->rkey};
  if (ibv_query_gid(context, 1, gid, &mine.gid) != 0) loops::give_up("ibv_query_gid");
  std::memcpy(b.cards[rank], &mine, sizeof mine);
  b.meet(rank, 1);
  std::memcpy(&theirs, b.cards[1 - rank], sizeof theirs);
  connect(port, gid);
  b.meet(rank, 2);
}

}  // namespace

int main(int argc, char** argv) {
  auto& b = *static_cast<loops::board*>(loops::shared_memory(sizeof(loops::board)));
  const int rank = loops::two_processes();
  queue_pair q;
  q.open(static_cast<std::uint8_t>(argc > 1 ? std::atoi(argv[1]) : 1), b, rank);
  if (rank == 1) {
    while (b.steps[0] < 3) tobi::arch::pause();  // its core may have the device's work to do
    std::memset(q.memory + of_target, 0, 8);
    b.steps[1] = 4;
    for (std::uint64_t seen = 0; !b.over;) {
      const std::uint64_t now = q.word(of_target);
      if (now == seen) continue;
      seen = now;
      q.set(now);
      q.put(8);
      q.wait();
    }
  } else {
    for (const std::size_t bytes : {std::size_t{8}, large}) {
      loops::measure("get", bytes, 1, [&] { q.get(bytes), q.wait(); });
      loops::measure("put", bytes, 1, [&] { q.put(bytes), q.wait(); });
    }
    loops::measure("amo-faa", 8, 1, [&] {
      q.post(IBV_WR_ATOMIC_FETCH_AND_ADD, 64, 8, 0, false);
      q.wait();
    });
    b.steps[0] = 3;
    while (b.steps[1] < 4) sched_yield();
    std::uint64_t number = 0;
    loops::measure("put-oneway", 8, 2, [&] {
      q.set(++number);
      q.put(8);
      while (q.word(of_target) != number) asm volatile("" ::: "memory");
      q.wait();
    });
    b.over = true;
  }
  loops::end_of(rank);
}
