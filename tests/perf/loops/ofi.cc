// SPDX-License-Identifier: Apache-2.0
// libfabric's RMA between two processes, over the provider of the argument. A put is complete when it is delivered. See
// loop.hpp.
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstring>

#include "tests/perf/loops/loop.hpp"

namespace {

constexpr std::size_t large = 64 << 10;
constexpr std::size_t of_target = 4096;         // what the other side reads and writes
constexpr std::size_t own = of_target + large;  // what this side's operations use
constexpr std::size_t total = own + large;

void must(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "loop: %s: %s.\n", what, fi_strerror(-code));
  std::_Exit(1);
}

struct card {
  std::size_t name_bytes;
  char name[512];
  std::uint64_t base;
  std::uint64_t key;
};

struct endpoint {
  fid_cq* done = nullptr;
  fid_ep* ep = nullptr;
  fi_addr_t peer = 0;
  void* descriptor = nullptr;
  std::byte* memory = nullptr;
  card theirs{};
  fi_context2 context{};

  void open(const char* provider, loops::board& b, int rank);
  int taken() {
    fi_cq_entry entry;
    const ssize_t n = fi_cq_read(done, &entry, 1);
    if (n < 0 && n != -FI_EAGAIN) must(static_cast<int>(n), "fi_cq_read");
    return n > 0 ? 1 : 0;
  }
  template <class Call>
  void post(const Call& call) {
    ssize_t code;
    while ((code = call()) == -FI_EAGAIN) (void)taken();
    must(static_cast<int>(code), "posting");
  }
  void wait() {
    while (taken() == 0) {
    }
  }
  void get(std::size_t bytes) {
    const iovec local{memory + own, bytes};
    const fi_rma_iov remote{theirs.base + of_target, bytes, theirs.key};
    const fi_msg_rma m{&local, &descriptor, 1, peer, &remote, 1, &context, 0};
    post([&] { return fi_readmsg(ep, &m, FI_COMPLETION); });
  }
  void put(std::size_t bytes) {
    post([&] {
      return fi_write(ep, memory + own, bytes, descriptor, peer, theirs.base + of_target, theirs.key, &context);
    });
  }
  void add() {
    post([&] {
      return fi_fetch_atomic(ep, memory + own, 1, descriptor, memory + 64, descriptor, peer, theirs.base, theirs.key,
                             FI_UINT64, FI_SUM, &context);
    });
  }
  [[nodiscard]] std::uint64_t word(std::size_t at) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory + at)).load(std::memory_order_acquire);
  }
  void set(std::uint64_t value) { std::memcpy(memory + own, &value, sizeof value); }
};

void endpoint::open(const char* provider, loops::board& b, int rank) {
  fi_info* hints = fi_allocinfo();
  hints->caps = FI_RMA | FI_ATOMIC;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  hints->fabric_attr->prov_name = strdup(provider);
  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_av* names = nullptr;
  fid_mr* region = nullptr;
  must(fi_getinfo(FI_VERSION(1, 11), nullptr, nullptr, 0, hints, &info), "fi_getinfo");
  must(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
  must(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_CONTEXT;
  must(fi_cq_open(domain, &cq, &done, nullptr), "fi_cq_open");
  fi_av_attr av{};
  must(fi_av_open(domain, &av, &names, nullptr), "fi_av_open");
  must(fi_endpoint(domain, info, &ep, nullptr), "fi_endpoint");
  must(fi_ep_bind(ep, &done->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  must(fi_ep_bind(ep, &names->fid, 0), "fi_ep_bind");
  must(fi_enable(ep), "fi_enable");
  memory = static_cast<std::byte*>(loops::shared_memory(total));
  std::memset(memory, 0, total);
  const std::uint64_t access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  must(fi_mr_reg(domain, memory, total, access, 0, 1, 0, &region, nullptr), "fi_mr_reg");
  descriptor = fi_mr_desc(region);
  card mine{sizeof mine.name, {}, 0, fi_mr_key(region)};
  if ((info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0) mine.base = reinterpret_cast<std::uint64_t>(memory);
  must(fi_getname(&ep->fid, mine.name, &mine.name_bytes), "fi_getname");
  std::memcpy(b.cards[rank], &mine, sizeof mine);
  b.meet(rank, 1);
  std::memcpy(&theirs, b.cards[1 - rank], sizeof theirs);
  if (fi_av_insert(names, theirs.name, 1, &peer, 0, nullptr) != 1) loops::give_up("fi_av_insert");
  b.meet(rank, 2);
}

void reply(endpoint& e, const loops::board& b) {
  for (std::uint64_t seen = 0; !b.over;) {
    const std::uint64_t now = e.word(of_target);
    if (now == seen) {
      (void)e.taken();
      continue;
    }
    seen = now;
    e.set(now);
    e.put(8);
    e.wait();
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto& b = *static_cast<loops::board*>(loops::shared_memory(sizeof(loops::board)));
  const int rank = loops::two_processes();
  endpoint e;
  e.open(argc > 1 ? argv[1] : "tcp;ofi_rxm", b, rank);
  if (rank == 1) {
    while (b.steps[0] < 3) (void)e.taken();
    std::memset(e.memory + of_target, 0, 8);
    b.steps[1] = 4;
    reply(e, b);
  } else {
    for (const std::size_t bytes : {std::size_t{8}, large}) {
      loops::measure("get", bytes, 1, [&] { e.get(bytes), e.wait(); });
      loops::measure("put", bytes, 1, [&] { e.put(bytes), e.wait(); });
    }
    loops::measure("amo-faa", 8, 1, [&] { e.add(), e.wait(); });
    b.steps[0] = 3;
    while (b.steps[1] < 4) sched_yield();
    std::uint64_t number = 0;
    loops::measure("put-oneway", 8, 2, [&] {
      e.set(++number);
      e.put(8);
      int completions = 0;
      while (e.word(of_target) != number) completions += e.taken();
      if (completions == 0) e.wait();
    });
    b.over = true;
  }
  loops::end_of(rank);
}
