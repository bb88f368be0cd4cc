// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/measure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "arch/topology.hpp"
#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"
#include "tools/perf/lane.hpp"
#include "transports/registry.hpp"

namespace tobi_perf {

namespace {

namespace arch = tobi::arch;
namespace base = tobi::base;
namespace transports = tobi::transports;

constexpr std::uint64_t idle_limit_ns = 5'000'000'000;  // an operation on a target that sleeps
constexpr std::uint64_t limit_ns = 60'000'000'000;      // and on one that polls: then something is broken
constexpr std::uint64_t rounds = 8;                     // in which a transport and its raw loop take turns
// What a round takes where the user gives no number of operations.
constexpr double default_round_ns = 5e7;
constexpr std::uint64_t least_samples = 5;
constexpr std::uint64_t most_samples = 50'000;

// The other rank's memory files, opened here: the two may have been started by a launcher.
std::array<int, 2> peer_files(tobi::bootstrap::bootstrap& job, const std::array<int, 2>& own) {
  const std::array<int, 3> mine{getpid(), own[0], own[1]};
  job.put("files", std::as_bytes(std::span(mine)));
  job.fence();
  std::array<int, 3> theirs{};
  std::memcpy(theirs.data(), job.get(1 - job.rank(), "files").data(), sizeof theirs);
  std::array<int, 2> here{};
  for (std::size_t i = 0; i < here.size(); ++i) {
    const std::string path = "/proc/" + std::to_string(theirs[0]) + "/fd/" + std::to_string(theirs[i + 1]);
    here[i] = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (here[i] < 0) {
      base::fatal("the memory of the other rank cannot be opened (" + path + ": " + std::strerror(errno) +
                  "); both must run on one machine, as one user.");
    }
  }
  return here;
}

// How rank 0 tells rank 1 what to do: shared memory of their own, so that it works whatever the transport does.
struct orders {
  work todo{};
  std::uint32_t lane = 0;
  bool quit = false;
  std::atomic<std::uint32_t> ready{0};  // rank 1 has read the order, and responds until it is 0 again
  stop_flag stop{0};
};

void* shared(std::size_t bytes, int fd) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
  if (at == MAP_FAILED) {
    base::fatal("no memory of " + base::format_size(bytes) + " for the measurement (" + std::strerror(errno) +
                "); lower --size.");
  }
  return at;
}

int memory_file(std::size_t bytes) {
  const int fd = memfd_create("tobi-perf", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    base::fatal("no memory of " + base::format_size(bytes) + " for the measurement (" + std::strerror(errno) +
                "); lower --size.");
  }
  return fd;
}

std::string bind(int rank, const base::settings& s) {
  const auto& cores = arch::this_machine().cores;
  if (s.pin == base::pin_policy::none || cores.size() < 2) return "the ranks are not bound to cores";
  const int cpu = cores[static_cast<std::size_t>(rank)].os_cpu;
  const std::string why = arch::bind_to_cpu(cpu);
  if (!why.empty()) return "the ranks are not bound to cores (" + why + ")";
  return fmt::format("ranks on cpu {} and {}", cores[0].os_cpu, cores[1].os_cpu);
}

struct item {
  std::string op;
  work todo;
};

// The rows that an operation of the command line is made of.
std::vector<item> items_of(const std::string& op, std::uint64_t bytes) {
  if (op == "get") return {{"get", {step::get, bytes}}};
  if (op == "put") return {{"put", {step::put, bytes}}, {"put-oneway", {step::ping_pong, bytes}}};
  if (op == "put-notify") return {{"put-notify", {step::notify, bytes}}};
  if (op == "amo-faa") return {{"amo-faa", {step::fetch_add, 8}}};
  if (op == "amo-cas") return {{"amo-cas", {step::compare_swap, 8}}};
  if (op == "chain") return {{"chain", {step::chain, bytes}}};
  if (op == "rate") return {{"rate", {step::put_window, 8}}};
  return {{"bw-get", {step::get_window, bytes}}, {"bw-put", {step::put_window, bytes}}};
}

// --- rank 0 -------------------------------------------------------------------------------------------

class initiator {
 public:
  initiator(const arguments& a, const scene& s, orders& o, std::vector<lane*> lanes)
      : a_(a), s_(s), orders_(o), lanes_(std::move(lanes)), stuck_(lanes_.size()) {}

  // Measures on every lane that can.
  void measure(const item& i, const std::vector<std::string>& unable, std::vector<row>& rows);

  [[nodiscard]] bool is_stuck() const { return std::find(stuck_.begin(), stuck_.end(), true) != stuck_.end(); }

 private:
  struct plan {
    std::uint64_t a_sample = 1;
    std::uint64_t samples = 1;  // where the user gives a number of operations
  };
  bool timed(lane& l, const work& w, std::uint64_t count, double& ns) {
    const std::uint64_t begin = arch::cycles();
    const bool done = l.initiate(w, count);
    ns = arch::cycles_to_ns(arch::cycles() - begin);
    return done;
  }
  void wake(const work& w, std::size_t lane_index);
  void release() noexcept {
    if (a_.responder_idle) return;
    orders_.stop.store(1, std::memory_order_release);
    while (orders_.ready.load(std::memory_order_acquire) != 0) arch::pause();
  }
  bool make_plan(lane& l, const work& w, plan& p);
  bool measure_round(lane& l, const work& w, std::uint64_t round, plan& p, std::vector<double>& samples);

  const arguments& a_;
  const scene& s_;
  orders& orders_;
  std::vector<lane*> lanes_;
  std::vector<bool> stuck_;  // operations of the lane never ended: nothing more can be asked of it
};

// The target reads the order behind the fence. One that is to be idle stays in the fence.
void initiator::wake(const work& w, std::size_t lane_index) {
  lanes_[lane_index]->start(w);
  if (a_.responder_idle) return;
  orders_.todo = w;
  orders_.lane = static_cast<std::uint32_t>(lane_index);
  orders_.stop.store(0, std::memory_order_relaxed);
  s_.job.fence();
  while (orders_.ready.load(std::memory_order_acquire) == 0) arch::pause();
}

// How many operations a sample holds, so that reading the clock is no part of it, and how many samples there are.
bool initiator::make_plan(lane& l, const work& w, plan& p) {
  double ns = 0;
  if (!timed(l, w, std::max<std::uint64_t>(a_.warmup, 1), ns)) return false;
  std::uint64_t tried = is_window(w.what) ? 16 : 1;
  for (;; tried *= 4) {
    if (!timed(l, w, tried, ns)) return false;
    if (ns > 1e6 || tried >= 1u << 16) break;
  }
  // Other programs may have had the core meanwhile: the shortest of a few tries counts.
  for (int again = 0; again < 4 && ns < 1e8; ++again) {
    double next = 0;
    if (!timed(l, w, tried, next)) return false;
    ns = std::min(ns, next);
  }
  const double one = std::max(ns / static_cast<double>(tried), 0.1);
  if (is_window(w.what)) {
    p.a_sample = std::clamp<std::uint64_t>((32u << 20) / w.bytes, 16, 1024);
  } else if (one < 1000) {
    p.a_sample = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(2000 / one), 16, 100);
  }
  if (a_.iterations == 0) return true;
  p.a_sample = std::clamp<std::uint64_t>(a_.iterations / rounds, 1, p.a_sample);
  p.samples = std::max<std::uint64_t>(a_.iterations / p.a_sample, 1);
  return true;
}

void initiator::measure(const item& i, const std::vector<std::string>& unable, std::vector<row>& rows) {
  std::vector<std::vector<double>> samples(lanes_.size());
  std::vector<plan> plans(lanes_.size());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      if (!unable[l].empty() || stuck_[l]) continue;
      wake(i.todo, l);
      stuck_[l] = !measure_round(*lanes_[l], i.todo, round, plans[l], samples[l]);
      release();
    }
  }
  for (std::size_t l = 0; l < lanes_.size(); ++l) {
    if (!unable[l].empty()) continue;
    if (stuck_[l]) {
      rows[l].note = a_.responder_idle ? "the target must poll" : "an operation was not completed in 60 s";
      continue;
    }
    rows[l].ns = summarize(samples[l]);
    rows[l].iterations = samples[l].size() * plans[l].a_sample;
    rows[l].operations_per_sample = plans[l].a_sample;
    if (l > 0 && rows[0].ns && rows[l].ns->median > 0) rows[l].ratio = rows[0].ns->median / rows[l].ns->median;
  }
}

// The first round also makes the plan. False: an operation took longer than the limit.
bool initiator::measure_round(lane& l, const work& w, std::uint64_t round, plan& p, std::vector<double>& samples) {
  double ns = 0;
  if (round == 0) {
    if (!make_plan(l, w, p)) return false;
    samples.reserve(most_samples);
  } else if (!timed(l, w, std::clamp<std::uint64_t>(a_.warmup / 4, 1, p.a_sample), ns)) {
    return false;
  }
  const double directions = needs_answers(w.what) ? 2 : 1;  // both of a ping-pong are alike
  const auto take = [&] {
    if (!timed(l, w, p.a_sample, ns)) return false;
    samples.push_back(ns / static_cast<double>(p.a_sample) / directions);
    return true;
  };
  if (a_.iterations != 0) {
    const std::uint64_t end = p.samples * (round + 1) / rounds;
    while (samples.size() < end) {
      if (!take()) return false;
    }
    return true;
  }
  double spent_ns = 0;
  for (std::uint64_t n = 0; n < least_samples || (spent_ns < default_round_ns && n < most_samples); ++n) {
    if (!take()) return false;
    spent_ns += ns;
  }
  return true;
}

std::string why_unable(const arguments& a, const lane& l, const transports::transport& fabric, const work& w) {
  if (a.responder_idle && needs_answers(w.what)) return "the target of a ping-pong cannot be idle";
  if (a.responder_idle && is_atomic(w.what) && fabric.serves_only(1)) {
    return "the target is the worker that executes the atomics (TOBI_AMO_SERVER=worker) and cannot be idle";
  }
  return l.unable(w);
}

// What the transport says about a target that sleeps; what it does is measured all the same.
void note_idle(const transports::capabilities& c, const work& w) {
  const bool passive = is_atomic(w.what) ? c.passive_amo : c.passive_rma;
  emit_note(fmt::format("The target sleeps; the transport {} that {} complete without it.",
                        passive ? "claims" : "does not claim", is_atomic(w.what) ? "atomics" : "puts and gets"));
}

// False when a lane is stuck.
bool run_rank0(const arguments& a, const scene& s, orders& o, const transports::transport& fabric,
               const std::vector<lane*>& lanes, const std::string& raw_why_not) {
  initiator first(a, s, o, lanes);
  bool told = false;
  for (const std::uint64_t bytes : a.sizes) {
    for (const item& i : items_of(a.op, bytes)) {
      std::vector<row> rows;
      std::vector<std::string> unable;
      for (std::size_t l = 0; l < lanes.size(); ++l) {
        unable.push_back(why_unable(a, *lanes[l], fabric, i.todo));
        rows.push_back({i.op, std::string(fabric.name()), i.todo.bytes, l > 0, 0, 1, {}, {}, unable.back()});
      }
      if (a.responder_idle && !std::exchange(told, true)) note_idle(fabric.caps(), i.todo);
      first.measure(i, unable, rows);
      for (const row& r : rows) emit(r);
      if (a.raw && lanes.size() == 1)
        emit({i.op, std::string(fabric.name()), i.todo.bytes, true, 0, 1, {}, {}, raw_why_not});
    }
  }
  return !first.is_stuck();
}

// --- rank 1 -------------------------------------------------------------------------------------------

void run_rank1(const scene& s, orders& o, const std::vector<lane*>& lanes) {
  for (;;) {
    s.job.fence();
    if (o.quit) return;
    const work w = o.todo;
    lane& l = *lanes[o.lane];
    l.start(w);
    o.ready.store(1, std::memory_order_release);
    l.respond(w, o.stop);
    o.ready.store(0, std::memory_order_release);
  }
}

}  // namespace

void emit(const row& r) {
  std::printf("%s\n", to_line(r).c_str());
  std::fflush(stdout);
}
void emit_note(const std::string& text) {
  std::printf("# %s\n", text.c_str());
  std::fflush(stdout);
}

int measure_operations(const arguments& a) {
  base::settings settings = base::read_settings();
  const std::string& name = a.transports.front();
  const transports::context as_asked{0, 2, settings.nodes >= 2 ? std::vector<int>{0, 1} : std::vector<int>{}, settings};
  for (const auto& entry : transports::registry()) {
    if (entry.name != name) continue;
    if (const std::string why = transports::unusable_apart(entry, as_asked); !why.empty()) {
      for (const std::uint64_t bytes : a.sizes)
        emit({a.op, name, bytes, false, 0, 1, {}, {}, "it cannot be used here: " + why});
      return 0;
    }
  }
  arch::ns_per_cycle();
  const layout where(*std::max_element(a.sizes.begin(), a.sizes.end()));
  const auto job =
      tobi::bootstrap::launched() ? tobi::bootstrap::start(settings, 0, 2) : tobi::bootstrap::fork_workers(2);
  if (job->size() != 2) base::fatal("tobi-perf measures between two processes; start two.", base::exit_usage);
  const std::string bound = bind(job->rank(), settings);
  const int own_file = memory_file(where.total);
  const int order_file = memory_file(sizeof(orders));
  const std::array<int, 2> theirs_files = peer_files(*job, {own_file, order_file});
  void* const memory = shared(where.total, own_file);
  std::memset(memory, 0, where.total);
  // Memory is zeroes, which is what a fresh order is.
  auto* const o = static_cast<orders*>(shared(sizeof(orders), job->rank() == 0 ? order_file : theirs_files[1]));
  transports::context here = as_asked;
  here.rank = job->rank();
  auto fabric = transports::select(name, here);
  const scene s{*job,
                settings,
                where,
                {memory, where.total, own_file, 0},
                theirs_files[0],
                a.responder_idle ? idle_limit_ns : limit_ns};
  auto through = transport_lane(s, *fabric);
  std::string raw_why_not;
  auto raw = a.raw ? raw_lane(name, s, raw_why_not) : nullptr;
  // Why rank 1 could not is for rank 0 to say.
  job->put("raw why not", std::as_bytes(std::span(raw_why_not.data(), raw_why_not.size())));
  job->fence();
  if (const auto theirs = job->get(1, "raw why not"); raw_why_not.starts_with("the other rank") && !theirs.empty()) {
    raw_why_not = "on rank 1 " + std::string(reinterpret_cast<const char*>(theirs.data()), theirs.size());
  }
  std::vector<lane*> lanes{through.get()};
  if (raw != nullptr) lanes.push_back(raw.get());

  bool alive = true;
  if (job->rank() == 0) {
    emit_note(fmt::format("{}: {}{}", name, bound, through->describe().empty() ? "" : "; " + through->describe()));
    if (raw != nullptr) emit_note(fmt::format("{} raw: {}", name, raw->describe()));
    alive = run_rank0(a, s, *o, *fabric, lanes, raw_why_not);
    o->quit = true;
    job->fence();
  } else {
    run_rank1(s, *o, lanes);
  }
  // Both must be here before either closes what the other uses. A lane that never ended its operations is left as it
  // is.
  job->finalize();
  if (!alive) {
    (void)through.release();
    (void)raw.release();
    (void)fabric.release();
  }
  return 0;
}

}  // namespace tobi_perf
