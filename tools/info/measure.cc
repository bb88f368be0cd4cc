// SPDX-License-Identifier: Apache-2.0
// Whether a transport is one-sided here: two processes, of which one sleeps while the other works on its memory. Where
// a worker of each node is to serve the others, a third one does.
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <vector>

#include "arch/clock.hpp"
#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"
#include "tools/info/probe.hpp"
#include "tools/samples.hpp"
#include "transports/meeting.hpp"
#include "transports/soft/settings.hpp"

namespace tobi_info {

namespace {

namespace base = tobi::base;
namespace transports = tobi::transports;
using tobi::status;
using transports::op;
using transports::op_kind;

constexpr std::uint64_t sleep_ns = 300'000'000;
constexpr std::uint64_t patience_ns = 3'000'000'000;  // for one operation, with a target that polls again
constexpr int rounds = 6;                             // three operations, each tried again if it seemed to wait
constexpr std::size_t samples = 31;
constexpr std::size_t region_bytes = 64u << 10;
constexpr std::uint64_t near_half = region_bytes / 2;  // of a process's own memory: what is moved, and what was found

// How the two speak while one of them must not touch the fabric.
struct shared_round {
  std::atomic<std::uint32_t> asleep{0};
  std::atomic<std::uint32_t> done{0};   // the initiator has finished: no need to sleep on
  std::atomic<std::uint32_t> awake{0};  // set before the target's first call after its sleep
  std::atomic<std::uint64_t> seen{0};   // the first word of the target's memory, just before that
};
struct shared_page {
  shared_round of[rounds];
};

void nap() {
  const timespec moment{0, 1'000'000};
  nanosleep(&moment, nullptr);
}

std::byte* map_file(std::size_t bytes, int& fd) {
  fd = memfd_create("tobi-info", MFD_CLOEXEC);
  void* at = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (at == MAP_FAILED) base::fatal("there is no memory for the measurement.");
  return static_cast<std::byte*>(at);
}

class pair {
 public:
  pair(const transports::registry_entry& entry, const job_here& job, shared_page& page)
      : page_(page), job_(tobi::bootstrap::fork_workers(ranks_of(job))) {
    transports::context where = job.context(ranks_of(job));
    where.rank = job_->rank();
    if (const std::string why = entry.unusable(where); !why.empty()) base::fatal(why + ".");
    fabric_ = transports::create(entry, where);
    connect();
  }

  bool initiates() const { return job_->rank() == 0; }
  bool sleeps() const { return job_->rank() == 1; }
  const transports::capabilities& caps() const { return fabric_->caps(); }
  std::string describe() const { return fabric_->describe(); }
  void finish() { job_->finalize(); }

  /// Connections and buffers are made on first use: that is not what is measured.
  void warm_up(op what) {
    if (initiates()) complete(what);
    job_->fence();
  }
  /// One round. At the initiator: whether WHAT was complete while the target slept, and what it took.
  bool round(op what, int index, double& us);

 private:
  static int ranks_of(const job_here& job) {
    return job.settings.of<transports::soft::settings>().amo_server == transports::soft::amo_place::worker ? 3 : 2;
  }
  void connect();
  void complete(const op& what);
  void sleep_through(shared_round& r) const;

  shared_page& page_;
  std::unique_ptr<tobi::bootstrap::bootstrap> job_;
  std::unique_ptr<transports::transport> fabric_;
  std::byte* memory_ = nullptr;
  transports::region_id region_ = 0;
};

void pair::connect() {
  const auto need = [this](status s, const char* what) {
    if (s != status::ok) base::fatal(std::string(what) + " failed (" + std::string(to_string(s)) + ").");
  };
  int fd = -1;
  memory_ = map_file(region_bytes, fd);
  transports::region_key key;
  need(fabric_->register_memory({memory_, region_bytes, fd, 0}, key), "registering memory");
  const std::string address = fabric_->address();
  job_->put("key", std::as_bytes(std::span(&key, 1)));
  job_->put("address", std::as_bytes(std::span(address.data(), address.size())));
  job_->fence();
  std::vector<std::string> addresses;
  for (int r = 0; r < job_->size(); ++r) {
    const auto bytes = job_->get(r, "address");
    addresses.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  need(fabric_->connect(addresses), "connecting");
  transports::meeting_over meet(*job_);
  fabric_->measure(meet);
  const int peer = job_->rank() == 0 ? 1 : 0;
  std::memcpy(&key, job_->get(peer, "key").data(), sizeof key);
  need(fabric_->attach(peer, key, region_), "attaching the other's memory");
  job_->while_waiting([this] { fabric_->progress(); });
}

void pair::complete(const op& what) {
  op one = what;
  one.region = region_;
  one.local = memory_ + near_half;
  const std::uint64_t begin = tobi::arch::now_ns();
  const auto until_ok = [&](auto&& attempt) {
    for (status s = attempt(); s != status::ok; s = attempt()) {
      if (s != status::again) base::fatal("an operation failed (" + std::string(to_string(s)) + ").");
      if (tobi::arch::now_ns() - begin > patience_ns) {
        base::fatal("an operation was not complete within 3 seconds, although the target polled.");
      }
      fabric_->progress();
    }
  };
  until_ok([&] { return fabric_->post(1, {&one, 1}); });
  until_ok([&] { return fabric_->flush(1); });
}

// The target: nothing of the fabric is called here.
void pair::sleep_through(shared_round& r) const {
  const std::uint64_t begin = tobi::arch::now_ns();
  r.asleep.store(1, std::memory_order_release);
  while (r.done.load(std::memory_order_acquire) == 0 && tobi::arch::now_ns() - begin < sleep_ns) nap();
  r.seen.store(std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory_)).load(std::memory_order_acquire));
  r.awake.store(1, std::memory_order_release);
}

bool pair::round(op what, int index, double& us) {
  shared_round& r = page_.of[index];
  job_->fence();
  if (!initiates()) {
    if (sleeps()) sleep_through(r);
    job_->fence();  // where a third one moves the fabric, and so serves
    return false;
  }
  while (r.asleep.load(std::memory_order_acquire) == 0) nap();
  std::vector<double> took;
  std::uint64_t value = 0;
  bool passive = true;
  while (passive && took.size() < samples) {
    value = static_cast<std::uint64_t>(index + 1) << 32 | (took.size() + 1);
    if (what.kind == op_kind::put) std::memcpy(memory_ + near_half, &value, sizeof value);
    const std::uint64_t begin = tobi::arch::now_ns();
    complete(what);
    const double one = static_cast<double>(tobi::arch::now_ns() - begin) / 1000;
    // A first one that was complete in time is proof enough: a slow fabric need not do all of them in one sleep.
    const bool asleep = r.awake.load(std::memory_order_acquire) == 0;
    if (took.empty()) passive = asleep;
    if (!asleep && !took.empty()) break;
    took.push_back(one);
  }
  r.done.store(1, std::memory_order_release);
  job_->fence();
  const bool slept = took.size() == samples;  // and so the target looked after the last one
  if (what.kind == op_kind::put && slept && r.seen.load() != value) {
    base::fatal("a put was said to be complete, and the target's memory did not have it.");
  }
  us = tobi_tools::median(took);
  return passive;
}

}  // namespace

void measure(const transports::registry_entry& entry, const job_here& job, const teller& tell) {
  void* at = mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) base::fatal("there is no memory for the measurement.");
  shared_page& page = *new (at) shared_page{};
  pair both(entry, job, page);
  const transports::capabilities& can = both.caps();
  const std::uint64_t bytes = 8;
  const op_kind atomic = can.fetch_add ? op_kind::fetch_add : op_kind::compare_swap;
  struct step {
    const char* name;
    op what;
    bool claimed;
  };
  const std::array steps{
      step{"get", op::get(0, 0, nullptr, bytes), true}, step{"put", op::put(0, 0, nullptr, bytes), true},
      step{"amo", {atomic, false, 0, near_half, nullptr, 8, 1, 0}, can.fetch_add || can.compare_swap}};
  for (const step& s : steps) {
    if (s.claimed) both.warm_up(s.what);
  }
  if (both.initiates()) {
    tell(
        {{"claims",
          {{"passive_rma", can.passive_rma}, {"passive_amo", can.passive_amo}, {"needs_progress", can.needs_progress}}},
         {"describe", both.describe()}});
  }
  int index = 0;
  for (const step& s : steps) {
    if (!s.claimed) continue;
    double us = 0;
    // Both take every round, although only the initiator knows whether the second one is needed: it is quick if not.
    bool passive = both.round(s.what, index++, us);
    double again = 0;
    if (both.round(s.what, index++, again) && !passive) {
      passive = true;
      us = again;
    }
    if (!both.initiates()) continue;
    const std::string name = s.name;
    tell({{"measured_passive_" + name, passive}, {"measured_" + name + "_us", us}});
  }
  both.finish();
}

}  // namespace tobi_info
