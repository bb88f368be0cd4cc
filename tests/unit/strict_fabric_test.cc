// SPDX-License-Identifier: Apache-2.0
// lane: beside, 11 s
// The strict provider (tests/emulators/fabric, emulated) catches each broken rule, and lets right programs be. The
// profile is read once in a process, so each use is a process of its own.
#include <gtest/gtest.h>

#if __has_include(<rdma/fabric.h>)
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "transports/ofi/library.hpp"
#include "transports/ofi/symbol_search.hpp"

namespace {

using tobi::transports::ofi::info_list;
using tobi::transports::ofi::libfabric;

constexpr std::uint64_t rma = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr std::uint64_t any_access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

using variables = std::vector<std::pair<const char*, const char*>>;

// An endpoint that talks to itself.
struct loop {
  info_list info;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_av* av = nullptr;
  fid_cq* cq = nullptr;
  fid_ep* ep = nullptr;
  fi_addr_t self = FI_ADDR_UNSPEC;

  [[nodiscard]] bool mode(int bit) const { return (info->domain_attr->mr_mode & bit) != 0; }
  [[nodiscard]] std::uint64_t at(const void* base) const {
    return mode(FI_MR_VIRT_ADDR) ? reinterpret_cast<std::uint64_t>(base) : 0;
  }
};

void need(long status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: %s\n", what, libfabric().strerror(static_cast<int>(-status)));
  _exit(3);
}

info_list ask(const variables& with, std::uint64_t caps, int mr_mode = 0x3fc) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fabric";
  setenv("FI_PROVIDER_PATH", here.c_str(), 1);
  for (const auto& [name, value] : with) setenv(name, value, 1);
  const info_list hints(libfabric().dupinfo(nullptr));
  hints->caps = caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = mr_mode & ~FI_MR_RAW;
  hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  hints->fabric_attr->prov_name = strdup("strict");
  fi_info* found = nullptr;
  const tobi::transports::ofi::symbol_search_off quicker;
  (void)libfabric().getinfo(FI_VERSION(1, 11), nullptr, nullptr, 0, hints.get(), &found);
  return info_list(found);
}

loop opened(const variables& with, std::uint64_t caps = rma | FI_ATOMIC, bool enable = true) {
  loop l;
  l.info = ask(with, caps);
  if (l.info == nullptr) need(-FI_ENODATA, "fi_getinfo");
  need(libfabric().fabric(l.info->fabric_attr, &l.fabric, nullptr), "fi_fabric");
  need(fi_domain(l.fabric, l.info.get(), &l.domain, nullptr), "fi_domain");
  fi_av_attr av{};
  av.type = l.info->domain_attr->av_type;
  need(fi_av_open(l.domain, &av, &l.av, nullptr), "fi_av_open");
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_DATA;
  cq.size = 64;
  cq.wait_obj = FI_WAIT_NONE;
  need(fi_cq_open(l.domain, &cq, &l.cq, nullptr), "fi_cq_open");
  need(fi_endpoint(l.domain, l.info.get(), &l.ep, nullptr), "fi_endpoint");
  need(fi_ep_bind(l.ep, &l.av->fid, 0), "fi_ep_bind");
  need(fi_ep_bind(l.ep, &l.cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  if (!enable) return l;
  need(fi_enable(l.ep), "fi_enable");
  char name[64];
  std::size_t bytes = sizeof name;
  need(fi_getname(&l.ep->fid, name, &bytes), "fi_getname");
  if (fi_av_insert(l.av, name, 1, &l.self, 0, nullptr) != 1) need(-FI_EINVAL, "fi_av_insert");
  return l;
}

std::uint64_t fresh_key(const loop& l) {
  static std::uint64_t last = 0;
  return l.mode(FI_MR_PROV_KEY) ? 0 : ++last;
}

fid_mr* registered(const loop& l, void* at, std::size_t bytes, std::uint64_t access = any_access) {
  fid_mr* mr = nullptr;
  need(fi_mr_reg(l.domain, at, bytes, access, 0, fresh_key(l), 0, &mr, nullptr), "fi_mr_reg");
  if (l.mode(FI_MR_ENDPOINT)) {
    need(fi_mr_bind(mr, &l.ep->fid, 0), "fi_mr_bind");
    need(fi_mr_enable(mr), "fi_mr_enable");
  }
  return mr;
}

// Posts until it is taken.
template <class Post>
void posted(const loop& l, Post&& post) {
  ssize_t s = -FI_EAGAIN;
  while ((s = post()) == -FI_EAGAIN) (void)fi_cq_read(l.cq, nullptr, 0);
  need(s, "post");
}

void wait(const loop& l, int completions = 1) {
  for (int n = 0; n < completions;) {
    fi_cq_data_entry e;
    const ssize_t got = fi_cq_read(l.cq, &e, 1);
    if (got == 1 && (e.flags & FI_REMOTE_WRITE) == 0) ++n;
    if (got < 0 && got != -FI_EAGAIN) need(got, "fi_cq_read");
  }
}

// Memory to work on, and what a use of the fabric needs besides.
struct memory {
  alignas(4096) char target[8192]{};
  alignas(4096) char local[8192]{};
  std::uint64_t words[4]{};
  fi_context2 contexts[4]{};
};

struct ready : loop {
  explicit ready(const variables& with, std::uint64_t caps = rma | FI_ATOMIC) : loop(opened(with, caps)) {
    std::memset(m->target, 1, sizeof m->target);
    std::memset(m->local, 2, sizeof m->local);
    theirs = registered(*this, m->target, sizeof m->target);
    mine = registered(*this, m, sizeof(memory));
  }
  memory* m = new memory;
  fid_mr* theirs = nullptr;
  fid_mr* mine = nullptr;

  void put(std::size_t bytes, void* desc, int context = 0, std::uint64_t offset = 0) const {
    posted(*this, [&] {
      return fi_write(ep, m->local, bytes, desc, self, at(m->target) + offset, fi_mr_key(theirs),
                      &m->contexts[context]);
    });
  }
  void put(std::size_t bytes) const { put(bytes, fi_mr_desc(mine)); }
  void get(std::size_t bytes) const {
    posted(*this, [&] {
      return fi_read(ep, m->local, bytes, fi_mr_desc(mine), self, at(m->target), fi_mr_key(theirs), &m->contexts[1]);
    });
  }
  void add(std::uint64_t offset, fi_op op = FI_SUM) const {
    m->words[0] = 5;
    posted(*this, [&] {
      return fi_fetch_atomic(ep, &m->words[0], 1, fi_mr_desc(mine), &m->words[1], fi_mr_desc(mine), self,
                             at(m->target) + offset, fi_mr_key(theirs), FI_UINT64, op, &m->contexts[2]);
    });
  }
};

// What nothing moves but the program's own calls: so nothing is complete between two of its lines.
const variables still(const char* profile) {
  return {
      {"FI_STRICT_PROFILE", profile}, {"FI_STRICT_RMA", "host"}, {"FI_STRICT_AMO", "host"}, {"FI_STRICT_AGAIN", "0"}};
}

struct use {
  const char* name;
  std::function<void()> broken;
  const char* says;
};

void close_in_order(ready& r) {
  fi_close(&r.theirs->fid);
  fi_close(&r.mine->fid);
  fi_close(&r.ep->fid);
  fi_close(&r.cq->fid);
  fi_close(&r.av->fid);
  fi_close(&r.domain->fid);
  fi_close(&r.fabric->fid);
}

const use memory_uses[] = {
    {"local_without_descriptor", [] { ready(still("efa-direct"), rma).put(64, nullptr); }, "without the descriptor"},
    {"descriptor_of_a_closed_region",
     [] {
       const ready r(still("efa-direct"), rma);
       void* const desc = fi_mr_desc(r.mine);
       fi_close(&r.mine->fid);
       r.put(64, desc);
     },
     "without the descriptor of an open region"},
    {"descriptor_of_another_buffer",
     [] {
       const ready r(still("efa-direct"), rma);
       r.put(64, fi_mr_desc(r.theirs));
     },
     "does not cover it"},
    {"region_used_before_it_is_enabled",
     [] {
       ready r(still("cxi"));
       need(fi_mr_reg(r.domain, r.m->target, 64, any_access, 0, 77, 0, &r.theirs, nullptr), "fi_mr_reg");
       need(fi_mr_bind(r.theirs, &r.ep->fid, 0), "fi_mr_bind");
       r.put(8);
       wait(r);
     },
     "is not enabled .fi_mr_enable."},
    {"region_enabled_without_an_endpoint",
     [] {
       ready r(still("cxi"));
       need(fi_mr_reg(r.domain, r.m->target, 64, any_access, 0, 77, 0, &r.theirs, nullptr), "fi_mr_reg");
       (void)fi_mr_enable(r.theirs);
     },
     "bound to no endpoint"},
    {"region_bound_to_a_disabled_endpoint",
     [] {
       const loop l = opened(still("cxi"), rma, false);
       static char bytes[64]{};
       fid_mr* mr = nullptr;
       need(fi_mr_reg(l.domain, bytes, sizeof bytes, any_access, 0, 7, 0, &mr, nullptr), "fi_mr_reg");
       (void)fi_mr_bind(mr, &l.ep->fid, 0);
     },
     "endpoint that is not enabled"},
    {"key_of_too_many_bytes",
     [] {
       const loop l = opened(still("cxi-early"));
       static char bytes[64]{};
       fid_mr* mr = nullptr;
       (void)fi_mr_reg(l.domain, bytes, sizeof bytes, any_access, 0, 0x10000, 0, &mr, nullptr);
     },
     "more than the 2 bytes of mr_key_size"},
    {"pages_that_do_not_exist",
     [] {
       const loop l = opened(still("efa"));
       void* const at = mmap(nullptr, 1u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       fid_mr* mr = nullptr;
       (void)fi_mr_reg(l.domain, at, 1u << 20, any_access, 0, 0, 0, &mr, nullptr);
     },
     "FI_MR_ALLOCATED, and memory of which"},
    {"address_where_offsets_are_counted",
     [] {
       const ready r(still("opx"));
       r.put(8, nullptr, 0, reinterpret_cast<std::uint64_t>(r.m->target));
       wait(r);
     },
     "outside of the target's region"},
    {"offset_where_addresses_are_counted",
     [] {
       const ready r(still("efa"));
       r.put(8, nullptr, 0, 0 - r.at(r.m->target));
       wait(r);
     },
     "outside of the target's region"},
    {"access_that_was_not_granted",
     [] {
       ready r(still("plain"));
       r.theirs = registered(r, r.m->target, 64, FI_REMOTE_READ);
       r.put(8);
       wait(r);
     },
     "not registered for this access"},
    {"region_that_is_gone",
     [] {
       const ready r(still("plain"));
       r.put(8);
       fi_close(&r.theirs->fid);
       wait(r);
     },
     "no memory region of this key"},
    {"region_closed_under_an_operation",
     [] {
       const ready r(still("efa-direct"), rma);
       r.put(8);
       fi_close(&r.mine->fid);
     },
     "describes a buffer of an operation under way"},
};

const use operation_uses[] = {
    {"context_used_again",
     [] {
       const ready r(still("opx"));
       r.put(8);
       r.put(8);
     },
     "used again before its operation is complete"},
    {"context_missing",
     [] {
       const ready r(still("opx"));
       (void)fi_write(r.ep, r.m->local, 8, nullptr, r.self, 0, fi_mr_key(r.theirs), nullptr);
     },
     "a context is null"},
    {"context_written_to",
     [] {
       const ready r(still("opx"));
       r.put(8);
       r.m->contexts[0].internal[7] = nullptr;
       wait(r);
     },
     "a context has changed"},
    {"source_written_to",
     [] {
       const ready r(still("efa"));
       r.put(64);
       r.m->local[63] = 9;
       wait(r);
     },
     "buffer of a write has changed"},
    {"result_written_to",
     [] {
       const ready r(still("efa"));
       r.get(64);
       r.m->local[63] = 9;
       wait(r);
     },
     "buffer of a read has changed"},
    {"inject_above_the_limit",
     [] {
       const ready r(still("opx"));
       (void)fi_inject_write(r.ep, r.m->local, 17, r.self, 0, fi_mr_key(r.theirs));
     },
     "17 bytes is injected, and inject_size is 16"},
    {"buffers_above_the_limit",
     [] {
       const ready r(still("opx"));
       const iovec two[] = {{r.m->local, 8}, {r.m->local + 8, 8}};
       (void)fi_writev(r.ep, two, nullptr, 2, r.self, 0, fi_mr_key(r.theirs), &r.m->contexts[0]);
     },
     "more buffers than iov_limit, 1"},
    {"targets_above_the_limit",
     [] {
       const ready r(still("opx"));
       const iovec local{r.m->local, 16};
       const fi_rma_iov two[] = {{0, 8, fi_mr_key(r.theirs)}, {8, 8, fi_mr_key(r.theirs)}};
       const fi_msg_rma message{&local, nullptr, 1, r.self, two, 2, &r.m->contexts[0], 0};
       (void)fi_writemsg(r.ep, &message, 0);
     },
     "more targets than rma_iov_limit"},
    {"size_above_the_limit",
     [] {
       variables with = still("plain");
       with.emplace_back("FI_STRICT_MAX_MSG_SIZE", "4096");
       ready(with).put(4097);
     },
     "4097 bytes is above max_msg_size, 4096"},
    {"data_above_the_limit",
     [] {
       const ready r(still("opx"));
       (void)fi_writedata(r.ep, r.m->local, 8, nullptr, 1ull << 32, r.self, 0, fi_mr_key(r.theirs), &r.m->contexts[0]);
     },
     "than cq_data_size"},
    {"queue_overrun",
     [] {
       variables with = still("plain");
       with.emplace_back("FI_STRICT_MANAGES", "0");
       with.emplace_back("FI_STRICT_TX_SIZE", "1");
       const ready r(with);
       r.put(8);
       r.put(8);
     },
     "a queue is overrun"},
    {"address_that_nobody_inserted",
     [] {
       const ready r(still("psm3"));
       (void)fi_write(r.ep, r.m->local, 8, nullptr, 1, 0, fi_mr_key(r.theirs), &r.m->contexts[0]);
     },
     "fi_av_insert has not returned"},
    {"atomic_that_is_not_aligned",
     [] {
       const ready r(still("plain"));
       r.add(4);
       wait(r);
     },
     "atomic is not aligned"},
    {"atomic_that_is_not_offered",
     [] {
       const ready r(still("worst"));
       r.add(0, FI_BOR);
     },
     "fi_query_atomic does not offer"},
    {"atomic_that_was_not_asked_for",
     [] {
       const ready r(still("plain"), rma);
       r.add(0);
     },
     "capabilities the endpoint was not opened with"},
    {"post_before_enable",
     [] {
       const loop l = opened(still("plain"), rma, false);
       static char bytes[8]{};
       (void)fi_write(l.ep, bytes, 8, nullptr, 0, 0, 1, nullptr);
     },
     "endpoint that is not enabled"},
};

const use order_uses[] = {
    {"domain_closed_first",
     [] {
       const ready r(still("plain"));
       fi_close(&r.domain->fid);
     },
     "a domain is closed of which"},
    {"queue_closed_before_its_endpoint",
     [] {
       const ready r(still("plain"));
       fi_close(&r.cq->fid);
     },
     "a completion queue is closed"},
    {"address_vector_closed_before_its_endpoint",
     [] {
       const ready r(still("plain"));
       fi_close(&r.av->fid);
     },
     "an address vector is closed"},
    {"endpoint_closed_before_its_regions",
     [] {
       const ready r(still("cxi"));
       fi_close(&r.ep->fid);
     },
     "to which 2 regions are bound"},
    {"address_vector_of_another_type",
     [] {
       const loop l = opened(still("opx"));
       fi_av_attr av{};
       av.type = FI_AV_TABLE;
       fid_av* second = nullptr;
       (void)fi_av_open(l.domain, &av, &second, nullptr);
     },
     "of a type that av_type does not name"},
    {"endpoint_enabled_without_a_queue",
     [] {
       const loop l = opened(still("plain"), rma, false);
       fid_ep* bare = nullptr;
       need(fi_endpoint(l.domain, l.info.get(), &bare, nullptr), "fi_endpoint");
       need(fi_ep_bind(bare, &l.av->fid, 0), "fi_ep_bind");
       (void)fi_enable(bare);
     },
     "without completion queues"},
};

class strict_fabric : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (!libfabric().error.empty()) GTEST_SKIP() << libfabric().error;
  }
};

template <std::size_t N>
void each_dies(const use (&uses)[N]) {
  for (const use& u : uses) EXPECT_EXIT(u.broken(), testing::KilledBySignal(SIGABRT), u.says) << u.name;
}

TEST_F(strict_fabric, catches_memory_that_is_used_wrongly) { each_dies(memory_uses); }
TEST_F(strict_fabric, catches_operations_beyond_the_limits) { each_dies(operation_uses); }
TEST_F(strict_fabric, catches_the_wrong_order) { each_dies(order_uses); }

// Puts, gets and atomics as each profile wants them, and the end.
[[noreturn]] void right_program(const char* profile, bool has_atomics) {
  ready r({{"FI_STRICT_PROFILE", profile}}, has_atomics ? rma | FI_ATOMIC : rma);
  for (int round = 0; round < 20; ++round) {
    std::memset(r.m->local, round, 4096);
    r.put(4096);
    wait(r);
    std::memset(r.m->local, 0, 4096);
    r.get(4096);
    wait(r);
    for (int i = 0; i < 4096; ++i) {
      if (r.m->local[i] != round) need(-FI_EIO, "a byte is wrong");
    }
    if (!has_atomics) continue;
    r.add(64);
    wait(r);
    std::uint64_t old = 0;
    std::memset(&old, round, sizeof old);
    std::uint64_t now = 0;
    std::memcpy(&now, r.m->target + 64, sizeof now);
    if (r.m->words[1] != old || now != old + 5) need(-FI_EIO, "an atomic is wrong");
  }
  close_in_order(r);
  _exit(0);
}

TEST_F(strict_fabric, lets_right_programs_be) {
  for (const char* profile : {"plain", "cxi", "cxi-early", "efa", "opx", "psm3", "rxm", "worst"}) {
    EXPECT_EXIT(right_program(profile, true), testing::ExitedWithCode(0), "^$") << profile;
  }
  EXPECT_EXIT(right_program("efa-direct", false), testing::ExitedWithCode(0), "^$");
}

TEST_F(strict_fabric, returns_errors_where_that_is_wanted) {
  const auto go_on = [] {
    const ready r({{"FI_STRICT_PROFILE", "opx"}, {"FI_STRICT_BROKEN", "error"}});
    _exit(fi_inject_write(r.ep, r.m->local, 17, r.self, 0, fi_mr_key(r.theirs)) == -FI_EINVAL ? 0 : 1);
  };
  EXPECT_EXIT(go_on(), testing::ExitedWithCode(0), "emulated, profile opx.*see fi_endpoint");
}

TEST_F(strict_fabric, a_key_that_is_in_use_is_no_broken_rule) {
  const auto twice = [] {
    const loop l = opened({{"FI_STRICT_PROFILE", "cxi-early"}});
    static char bytes[64]{};
    fid_mr* mr = nullptr;
    need(fi_mr_reg(l.domain, bytes, sizeof bytes, any_access, 0, 7, 0, &mr, nullptr), "fi_mr_reg");
    _exit(fi_mr_reg(l.domain, bytes, sizeof bytes, any_access, 0, 7, 0, &mr, nullptr) == -FI_ENOKEY ? 0 : 1);
  };
  EXPECT_EXIT(twice(), testing::ExitedWithCode(0), "^$");
}

TEST_F(strict_fabric, serves_nobody_who_does_not_offer_what_it_asks_for) {
  const auto asks = [](const variables& with, std::uint64_t caps, int mr_mode) {
    _exit(ask(with, caps, mr_mode) == nullptr ? 0 : 1);
  };
  EXPECT_EXIT(asks({{"FI_STRICT_PROFILE", "cxi"}}, rma, 0), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(asks({{"FI_STRICT_PROFILE", "efa-direct"}}, rma | FI_ATOMIC, 0x3fc), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(asks({{"FI_STRICT_MR_MODE", "raw"}}, rma, 0x3fc), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(asks({{"FI_STRICT_PROFILE", "cxi"}}, rma, 0x3fc), testing::ExitedWithCode(1), "^$") << "and here it does";
}

TEST_F(strict_fabric, refuses_settings_that_it_does_not_know) {
  EXPECT_EXIT(ask({{"FI_STRICT_PROFILE", "cxy"}}, rma), testing::ExitedWithCode(2), "is none of plain cxi");
  EXPECT_EXIT(ask({{"FI_STRICT_MR_MODE", "lokal"}}, rma), testing::ExitedWithCode(2), "neither a number nor words");
}

}  // namespace
#else
TEST(strict_fabric, needs_libfabric) { GTEST_SKIP() << "the package libfabric-dev was not there at build time"; }
#endif
