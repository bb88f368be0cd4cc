// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/measure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
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
#include "bootstrap/tcp/meeting.hpp"
#include "libcore/base/log.hpp"
#include "tools/perf/control.hpp"
#include "tools/perf/lane.hpp"
#include "tools/perf/pairs.hpp"
#include "transports/registry.hpp"
#include "transports/soft/settings.hpp"

namespace tobi_perf {

namespace {

namespace arch = tobi::arch;
namespace base = tobi::base;
namespace transports = tobi::transports;

constexpr std::uint64_t idle_limit_ns = 5'000'000'000;  // an operation on a target that sleeps
constexpr std::uint64_t limit_ns = 60'000'000'000;      // and on one that polls: then something is broken
constexpr std::uint64_t rounds = 12;                    // in which a transport and its raw loop take turns
// What a round takes where the user gives no number of operations.
constexpr double default_round_ns = 3.5e7;
// A transfer of a cache line that differs so much between the begin and the end of a row, in times.
constexpr double other_machine = 1.5;
constexpr std::uint64_t least_samples = 5;
constexpr std::uint64_t most_samples = 50'000;
// Operations of a sample, where single ones are shorter than this: then reading the clock is a hundredth of it.
constexpr double shortest_sample_ns = 2000;
constexpr std::uint64_t most_of_a_sample = 8192;
constexpr std::uint64_t fewest_samples = 4;  // of a number of operations that the user gives
// A ratio is not told where reading the clock is more of a sample than this.
constexpr double clock_share = 0.05;

// What two readings of the clock, one behind the other, are apart: the mean of the middle half, since a clock may have
// steps of 10 ns, and others may have the core for much longer.
double clock_cost_ns() {
  std::vector<double> all(1001);
  for (double& one : all) {
    const std::uint64_t begin = arch::cycles();
    one = arch::cycles_to_ns(arch::cycles() - begin);
  }
  std::sort(all.begin(), all.end());
  return tobi_tools::mean({all.begin() + 250, all.end() - 250});
}

// The other rank's memory, opened here, where both are on one machine; -1 else.
int peer_file(tobi::bootstrap::bootstrap& job, int own) {
  const std::array<int, 2> mine{getpid(), own};
  job.put("files", std::as_bytes(std::span(mine)));
  job.fence();
  std::array<int, 2> theirs{};
  const int other = job.rank() == 0 ? 1 : 0;
  std::memcpy(theirs.data(), job.get(other, "files").data(), sizeof theirs);
  if (job.nodes()[0] != job.nodes()[1]) return -1;
  const std::string path = "/proc/" + std::to_string(theirs[0]) + "/fd/" + std::to_string(theirs[1]);
  const int here = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (here < 0) {
    base::fatal("the memory of the other rank cannot be opened (" + path + ": " + std::strerror(errno) +
                "); both must be of one user.");
  }
  return here;
}

void* shared(std::size_t bytes, int fd) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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

struct places {
  std::string text;    // of both ranks
  int other_cpu = -1;  // rank 1's, where both are bound to cores of this machine, and not to the same
};

// Binds this rank to a core of its machine, and says where both are.
places bind(tobi::bootstrap::bootstrap& job, const base::settings& s, const pair* pairs) {
  const auto& cores = arch::this_machine().cores;
  const int node = job.nodes()[job.rank()];
  const auto here = static_cast<std::size_t>(
      pairs != nullptr ? pairs->place_on_node()
                       : std::count(job.nodes().begin(), job.nodes().begin() + job.rank(), node));  // which of its node
  std::string place = "not bound to a core";
  int bound = -1;
  if (s.pin != base::pin_policy::none && cores.size() >= 2) {
    const int cpu = cores[here % cores.size()].os_cpu;
    const std::string why = arch::bind_to_cpu(cpu);
    place = why.empty() ? fmt::format("cpu {}", cpu) : place + " (" + why + ")";
    if (why.empty()) bound = cpu;
  }
  job.put("place", std::as_bytes(std::span(place.data(), place.size())));
  job.put("cpu", std::as_bytes(std::span(&bound, 1)));
  job.fence();
  places all;
  int theirs = -1;
  std::memcpy(&theirs, job.get(1, "cpu").data(), sizeof theirs);
  if (job.nodes()[0] == job.nodes()[1] && pairs == nullptr && bound >= 0 && bound != theirs) all.other_cpu = theirs;
  for (int r = 0; r < 2; ++r) {
    const auto told = job.get(r, "place");
    all.text +=
        fmt::format("{}{}: {}", r == 0 ? "" : ", ", base::name_of_rank(pairs != nullptr ? pairs->rank_in_job(r) : r),
                    std::string_view(reinterpret_cast<const char*>(told.data()), told.size()));
  }
  return all;
}

struct item {
  std::string op;
  work todo;
};

// The rows that an operation of the command line is made of.
std::vector<item> items_of(const arguments& a, std::uint64_t bytes) {
  const std::string& op = a.op;
  const char* const both = a.both_ways ? "-both" : "";
  if (op == "get") return {{"get", {step::get, bytes}}};
  if (op == "get-fresh") return {{"get-fresh", {step::fresh, bytes}}};
  if (op == "put") return {{"put", {step::put, bytes}}, {"put-oneway", {step::ping_pong, bytes}}};
  if (op == "put-notify") return {{"put-notify", {step::notify, bytes}}};
  if (op == "amo-faa") return {{"amo-faa", {step::fetch_add, 8}}};
  if (op == "amo-cas") return {{"amo-cas", {step::compare_swap, 8}}};
  if (op == "chain") return {{"chain", {step::chain, bytes}}};
  if (op == "rate") return {{fmt::format("rate{}", both), {step::put_window, 8, a.both_ways}}};
  return {{fmt::format("bw-get{}", both), {step::get_window, bytes, a.both_ways}},
          {fmt::format("bw-put{}", both), {step::put_window, bytes, a.both_ways}}};
}

// --- rank 0 -------------------------------------------------------------------------------------------

class initiator {
 public:
  /// PAIRS: null where there is one alone.
  /// OTHER_CPU: the core of rank 1, where both are bound on this machine; else -1.
  initiator(const arguments& a, controller& other, std::vector<lane*> lanes, pair* pairs, int other_cpu)
      : a_(a), other_(other), lanes_(std::move(lanes)), stuck_(lanes_.size()), pairs_(pairs), other_cpu_(other_cpu) {}

  // Measures on every lane that can.
  void measure(const item& i, const std::vector<std::string>& unable, std::vector<row>& rows);

  /// What all pairs have found, where OWN is of this one.
  [[nodiscard]] row sum(const row& own) {
    if (pairs_ == nullptr) return own;
    meet(to_line(own));
    return pairs_->sum();
  }

  [[nodiscard]] bool is_stuck() const { return std::find(stuck_.begin(), stuck_.end(), true) != stuck_.end(); }

 private:
  struct plan {
    std::uint64_t a_sample = 1;
    std::uint64_t samples = 0;  // where the user gives a number of operations; 0: there is no plan yet
  };
  // Of a row.
  struct taken {
    std::vector<round_taken> rounds;
    done_by_itself back;

    [[nodiscard]] std::vector<double> medians() const {
      std::vector<double> all;
      for (const round_taken& r : rounds) {
        if (!r.samples.empty()) all.push_back(tobi_tools::median(r.samples));
      }
      return all;
    }
  };
  bool timed(lane& l, const work& w, std::uint64_t count, double& ns) {
    const std::uint64_t begin = arch::cycles();
    const bool done = l.initiate(w, count);
    ns = arch::cycles_to_ns(arch::cycles() - begin);
    return done;
  }
  void meet(const std::string& says = "") {
    if (pairs_ == nullptr) return;
    other_.meet();
    pairs_->meet(says);
  }
  void wake(const work& w, std::size_t lane_index);
  void release(const work& w, std::size_t lane_index, done_by_itself& back, round_taken& in);
  void take_round(const work& w, const std::vector<std::string>& unable, std::uint64_t round, std::vector<plan>& plans,
                  std::vector<taken>& all);
  std::uint64_t repeat_disturbed(const work& w, const std::vector<std::string>& unable, std::vector<plan>& plans,
                                 std::vector<taken>& all);
  void fill(row& r, const plan& p, const taken& of) const;
  [[nodiscard]] std::string changed_machine(const std::optional<double>& before, const std::optional<double>& after);
  bool make_plan(lane& l, const work& w, plan& p);
  bool measure_round(lane& l, const work& w, std::uint64_t round, plan& p, round_taken& in);

  const arguments& a_;
  controller& other_;
  std::vector<lane*> lanes_;
  std::vector<bool> stuck_;  // operations of the lane never ended: nothing more can be asked of it
  pair* pairs_;
  int other_cpu_;
  double clock_ns_ = clock_cost_ns();
};

// A target that is to be idle is told nothing, and sleeps on.
void initiator::wake(const work& w, std::size_t lane_index) {
  lanes_[lane_index]->start(w);
  if (!a_.responder_idle) other_.begin(w, static_cast<std::uint32_t>(lane_index));
}

void initiator::release(const work& w, std::size_t lane_index, done_by_itself& back, round_taken& in) {
  if (a_.responder_idle) return;
  const work only_serves{w.what, w.bytes};
  const done_by_itself done = other_.stop([&](const stop_flag& stopped) {
    if (w.both_ways) lanes_[lane_index]->respond(only_serves, stopped);
  });
  back.operations += done.operations;
  back.ns += done.ns;
  in.core_ns[1] = done.core_ns;
}

// How many operations a sample holds, so that reading the clock is no part of it, and how many samples there are.
bool initiator::make_plan(lane& l, const work& w, plan& p) {
  double ns = 0;
  if (!timed(l, w, std::max<std::uint64_t>(a_.warmup, 1), ns)) return false;
  if (is_window(w.what)) {
    p.a_sample = window_of(w.bytes);
  } else {
    std::uint64_t tried = 1;
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
    if (one < shortest_sample_ns / 2) {
      p.a_sample = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(shortest_sample_ns / one), 2, most_of_a_sample);
    }
  }
  p.samples = 1;
  if (a_.iterations == 0) return true;
  p.a_sample = std::clamp<std::uint64_t>(a_.iterations / fewest_samples, 1, p.a_sample);
  p.samples = (a_.iterations + p.a_sample - 1) / p.a_sample;
  p.a_sample = a_.iterations / p.samples;
  return true;
}

// Adds a round to what each lane that can has taken.
void initiator::take_round(const work& w, const std::vector<std::string>& unable, std::uint64_t round,
                           std::vector<plan>& plans, std::vector<taken>& all) {
  for (std::size_t l = 0; l < lanes_.size(); ++l) {
    meet();
    if (!unable[l].empty() || stuck_[l]) continue;
    round_taken& in = all[l].rounds.emplace_back();
    const std::array<process_facts, 2> before{own_facts(), other_.facts()};
    const std::uint64_t begin = arch::now_ns();
    wake(w, l);
    stuck_[l] = !measure_round(*lanes_[l], w, round, plans[l], in);
    in.core_ns[0] = core_ns();
    release(w, l, all[l].back, in);
    in.ns = arch::now_ns() - begin;
    in.of = {own_facts() - before[0], other_.facts() - before[1]};
  }
}

// Measures once more what was disturbed, in all lanes, since a ratio compares what was taken in turn. As many times as
// there are rounds: a row takes twice the time at most. Returns how many times. Several pairs have no time of their
// own.
std::uint64_t initiator::repeat_disturbed(const work& w, const std::vector<std::string>& unable,
                                          std::vector<plan>& plans, std::vector<taken>& all) {
  std::uint64_t again = 0;
  const auto is_disturbed = [&](std::uint64_t round) {
    return std::any_of(all.begin(), all.end(), [&](const taken& of) {
      return round < of.rounds.size() && !disturbance(of.rounds[round], of.rounds).empty();
    });
  };
  for (std::uint64_t round = 0; round < rounds && again < rounds && pairs_ == nullptr && !is_stuck();) {
    if (!is_disturbed(round)) {
      ++round;
      continue;
    }
    ++again;
    take_round(w, unable, round, plans, all);
    if (is_stuck()) break;
    const bool better = !is_disturbed(rounds);
    for (taken& of : all) {
      if (of.rounds.size() <= rounds) continue;
      if (better) of.rounds[round] = std::move(of.rounds.back());
      of.rounds.pop_back();
    }
  }
  return again;
}

std::string initiator::changed_machine(const std::optional<double>& before, const std::optional<double>& after) {
  if (!before || !after || std::max(*before, *after) < other_machine * std::min(*before, *after)) return "";
  return fmt::format("a cache line went from core to core in {:.0f} ns before it, and in {:.0f} ns behind it", *before,
                     *after);
}

void initiator::measure(const item& i, const std::vector<std::string>& unable, std::vector<row>& rows) {
  std::vector<taken> all(lanes_.size());
  std::vector<plan> plans(lanes_.size());
  const std::optional<double> line_before = other_cpu_ < 0 ? std::nullopt : line_ns(other_cpu_);
  for (std::uint64_t round = 0; round < rounds; ++round) take_round(i.todo, unable, round, plans, all);
  const std::uint64_t repeated = repeat_disturbed(i.todo, unable, plans, all);
  const std::string changed =
      changed_machine(line_before, other_cpu_ < 0 || is_stuck() ? std::nullopt : line_ns(other_cpu_));
  for (std::size_t l = 0; l < lanes_.size(); ++l) {
    if (!unable[l].empty()) continue;
    if (stuck_[l]) {
      rows[l].note = a_.responder_idle ? "the target must poll" : "an operation was not completed in 60 s";
      continue;
    }
    row& r = rows[l];
    r.repeated = repeated;
    r.disturbance = changed;
    fill(r, plans[l], all[l]);
    const auto tells = [&](const row& told) {
      return told.ns && clock_ns_ < clock_share * told.ns->median * static_cast<double>(told.operations_per_sample);
    };
    if (l == 0 || !tells(rows[0]) || !tells(r)) continue;
    r.ratio = rows[0].ns->median / r.ns->median;
    std::vector<double> ratios = all[0].medians();
    const std::vector<double> below = all[l].medians();
    if (ratios.size() != below.size()) continue;
    for (std::size_t k = 0; k < ratios.size(); ++k) ratios[k] /= below[k];
    r.ratio_within = interval_of(ratios);
  }
}

void initiator::fill(row& r, const plan& p, const taken& of) const {
  std::vector<double> samples;
  std::uint64_t ns = 0;
  std::array<std::uint64_t, 2> cpu_ns{};
  for (const round_taken& round : of.rounds) {
    samples.insert(samples.end(), round.samples.begin(), round.samples.end());
    ns += round.ns;
    for (std::size_t rank = 0; rank < 2; ++rank) cpu_ns[rank] += round.of[rank].cpu_ns;
    const std::string why = disturbance(round, of.rounds);
    if (why.empty()) continue;
    if (r.disturbed++ == 0) r.disturbance = why;
  }
  r.ns = summarize(samples);
  r.median_within = interval_of(of.medians());
  r.rounds = of.rounds.size();
  r.iterations = samples.size() * p.a_sample;
  r.operations_per_sample = p.a_sample;
  r.clock_ns = clock_ns_;
  if (of.back.ns != 0) {
    r.all_per_second =
        1e9 / r.ns->mean + static_cast<double>(of.back.operations) * 1e9 / static_cast<double>(of.back.ns);
  }
  const auto share = [&](std::uint64_t cpu) { return static_cast<double>(cpu) / static_cast<double>(ns); };
  r.cpu = {share(cpu_ns[0]), share(cpu_ns[1])};
}

// The first round also makes the plan. False: an operation took longer than the limit.
bool initiator::measure_round(lane& l, const work& w, std::uint64_t round, plan& p, round_taken& in) {
  std::vector<double>& samples = in.samples;
  double ns = 0;
  // Touched, so that no sample has the kernel's time for it.
  samples.assign(a_.iterations != 0 ? std::min(a_.iterations, most_samples) : most_samples, 0);
  samples.clear();
  if (p.samples == 0) {
    if (!make_plan(l, w, p)) return false;
  } else if (!timed(l, w, std::clamp<std::uint64_t>(a_.warmup / 4, 1, p.a_sample), ns)) {
    return false;
  }
  // Both directions of a ping-pong are alike.
  const double directions = w.what == step::ping_pong || w.what == step::notify ? 2 : 1;
  double spent_ns = 0;
  const auto take = [&] {
    if (!timed(l, w, p.a_sample, ns)) return false;
    samples.push_back(ns / static_cast<double>(p.a_sample) / directions);
    spent_ns += ns;
    return true;
  };
  const double round_ns = a_.duration_s > 0 ? a_.duration_s * 1e9 / rounds : default_round_ns;
  const std::uint64_t most = a_.iterations != 0  ? p.samples * (round + 1) / rounds - p.samples * round / rounds
                             : a_.duration_s > 0 ? ~std::uint64_t{0}
                                                 : most_samples;
  const auto wants = [&](std::uint64_t n) {
    return a_.iterations != 0 ? n < most : n < least_samples || (spent_ns < round_ns && n < most);
  };
  while (wants(samples.size())) {
    if (!take()) return false;
  }
  if (!samples.empty()) {
    const double of_a_sample = static_cast<double>(p.a_sample) * directions;
    in.longest_ns = static_cast<std::uint64_t>(*std::max_element(samples.begin(), samples.end()) * of_a_sample);
    in.usual_ns = static_cast<std::uint64_t>(tobi_tools::median(samples) * of_a_sample);
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
bool run_rank0(const arguments& a, controller& others, const transports::transport& fabric,
               const std::vector<lane*>& lanes, const std::string& raw_why_not, pair* pairs, int other_cpu) {
  initiator first(a, others, lanes, pairs, other_cpu);
  bool told = false;
  for (const std::uint64_t bytes : a.sizes) {
    for (const item& i : items_of(a, bytes)) {
      std::vector<row> rows;
      std::vector<std::string> unable;
      for (std::size_t l = 0; l < lanes.size(); ++l) {
        unable.push_back(why_unable(a, *lanes[l], fabric, i.todo));
        rows.push_back({i.op, std::string(fabric.name()), i.todo.bytes, l > 0, 0, 1, {}, {}, unable.back()});
      }
      if (a.responder_idle && !std::exchange(told, true)) note_idle(fabric.caps(), i.todo);
      first.measure(i, unable, rows);
      for (const row& r : rows) emit(first.sum(r));
      if (a.raw && lanes.size() == 1)
        emit({i.op, std::string(fabric.name()), i.todo.bytes, true, 0, 1, {}, {}, raw_why_not});
    }
  }
  return !first.is_stuck();
}

// --- rank 1 -------------------------------------------------------------------------------------------

// What rank 0 does, for as long.
done_by_itself repeats(lane& l, const work& w, const stop_flag& stop) {
  done_by_itself done;
  const std::uint64_t begin = arch::now_ns();
  do {  // once at least, however late this rank gets a core
    if (!l.initiate(w, window_of(w.bytes))) base::fatal("an operation was not completed in time.");
    done.operations += window_of(w.bytes);
  } while (stop.load(std::memory_order_relaxed) == 0);
  done.ns = arch::now_ns() - begin;
  return done;
}

void run_rank1(listener& orders, const std::vector<lane*>& lanes, pair* pairs) {
  for (order now = orders.next(); !now.quit; now = orders.next()) {
    if (now.meets) {
      pairs->meet();
      continue;
    }
    lane& l = *lanes[now.lane];
    l.start(now.todo);
    orders.say_ready();
    done_by_itself done;
    if (now.todo.both_ways) {
      done = repeats(l, now.todo, orders.stop());
    } else {
      l.respond(now.todo, orders.stop());
    }
    done.core_ns = core_ns();
    orders.say_stopped(done);
  }
}

// --- the servers of TOBI_AMO_SERVER=worker ------------------------------------------------------------

// Two ranks are measured. Behind them come the servers: one for both where they are on one node, else one of each.
int servers_of(const base::settings& s) {
  if (s.of<transports::soft::settings>().amo_server != transports::soft::amo_place::worker) return 0;
  return s.nodes >= 2 ? 2 : 1;
}

base::per_rank<int> nodes_of(const base::settings& s) {
  if (s.nodes < 2) return {};
  return servers_of(s) == 0 ? base::per_rank<int>{0, 1} : base::per_rank<int>{0, 1, 0, 1};
}

// Nobody asks the server of rank 0's own node, so it does not take the core from the one that measures.
void run_server(const scene& s, const listener& orders, transports::transport& fabric, bool is_asked) {
  const bool shares_core = arch::this_machine().cores.size() < static_cast<std::size_t>(s.job.size());
  while (!orders.is_over()) {
    fabric.progress();
    if (!is_asked) usleep(1000);
    if (shares_core) sched_yield();
  }
}

// --- a job of a launcher's, or of two hosts that met ---------------------------------------------------

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
void put_text(tobi::bootstrap::bootstrap& job, std::string_view key, const std::string& text) {
  job.put(key, std::as_bytes(std::span(text.data(), text.size())));
}

// Rank 0's arguments are all ranks', and it chooses the transport. "" or why some rank cannot use that.
std::string agree(tobi::bootstrap::bootstrap& job, const transports::context& here, arguments& a) {
  transports::choice chosen;
  if (job.rank() == 0) {
    chosen = transports::choose(a.transports.front(), here);
    if (chosen.why_not.empty()) a.transports.front() = chosen.name;
  }
  put_text(job, "arguments", to_text(a));
  job.fence();
  from_text(text_of(job.get(0, "arguments")), a);
  put_text(job, "why not",
           chosen.why_not.empty() ? transports::why_not_here(a.transports.front(), here) : chosen.why_not);
  job.fence();
  for (int r = 0; r < job.size(); ++r) {
    if (const std::string why = text_of(job.get(r, "why not")); !why.empty())
      return "by " + base::name_of_rank(r) + ": " + why;
  }
  return "";
}

int measure_in(tobi::bootstrap::bootstrap& job, const base::settings& settings, const transports::context& here,
               const arguments& a, pair* pairs) {
  const std::string& name = a.transports.front();
  const layout where(*std::max_element(a.sizes.begin(), a.sizes.end()));
  const places where_bound = bind(job, settings, pairs);
  const int own_file = memory_file(where.total);
  const int theirs_file = peer_file(job, own_file);
  void* const memory = shared(where.total, own_file);
  std::memset(memory, 0, where.total);
  auto fabric = transports::select(name, here);
  const scene s{job,         settings,
                where,       {memory, where.total, own_file, 0},
                theirs_file, a.responder_idle ? idle_limit_ns : limit_ns};
  auto through = transport_lane(s, *fabric);
  std::string raw_why_not;
  auto raw = a.raw && job.size() == 2 ? raw_lane(name, s, raw_why_not) : nullptr;
  if (job.size() != 2) raw_why_not = "the library's own calls are measured between two processes, without a server";
  // Why rank 1 could not is for rank 0 to say.
  put_text(job, "raw why not", raw_why_not);
  job.fence();
  if (const std::string theirs = text_of(job.get(1, "raw why not"));
      raw_why_not.starts_with("the other rank") && !theirs.empty()) {
    raw_why_not = "on rank 1 " + theirs;
  }
  std::vector<lane*> lanes{through.get()};
  if (raw != nullptr) lanes.push_back(raw.get());

  bool alive = true;
  if (job.rank() == 0) {
    controller others(job);
    emit_note(fmt::format("{}: {}{}; reading the clock takes {:.1f} ns of a sample", name, where_bound.text,
                          through->describe().empty() ? "" : "; " + through->describe(), clock_cost_ns()));
    if (raw != nullptr) emit_note(fmt::format("{} raw: {}", name, raw->describe()));
    alive = run_rank0(a, others, *fabric, lanes, raw_why_not, pairs, where_bound.other_cpu);
    others.quit();
  } else {
    listener orders(job);
    if (job.rank() == 1) {
      if (tobi::bootstrap::tcp::listens())
        emit_note(fmt::format("{}: {}. Rank 0 prints the rest.", name, where_bound.text));
      run_rank1(orders, lanes, pairs);
    } else {
      run_server(s, orders, *fabric, job.rank() == job.size() - 1);
    }
  }
  // Both must be here before either closes what the other uses. A lane that never ended its operations is left as it
  // is.
  job.finalize();
  if (!alive) {
    (void)through.release();
    (void)raw.release();
    (void)fabric.release();
  }
  return 0;
}

// As lines, for the process that gathers them.
sink chosen_sink{[](const arguments&, const row& r) { fmt::print("{}\n", to_line(r)); },
                 [](const arguments&, const std::string& text) { fmt::print("# {}\n", text); }};
const arguments no_arguments;
const arguments* of_rows = &no_arguments;
bool all_are_measured = true;

}  // namespace

void emit_to(const arguments& a, sink where) {
  of_rows = &a;
  chosen_sink = where;
}
bool all_measured() noexcept { return all_are_measured; }
void emit(const row& r) {
  if (!r.ns) all_are_measured = false;
  chosen_sink.row(*of_rows, r);
  std::fflush(stdout);
}
void emit_note(const std::string& text) {
  chosen_sink.note(*of_rows, text);
  std::fflush(stdout);
}

int measure_operations(arguments a) {
  base::settings settings = base::read_settings();
  const bool launched = tobi::bootstrap::launched();
  if (a.pairs > 1 && servers_of(settings) != 0) {
    base::fatal("tobi-perf --pairs measures without servers; leave TOBI_AMO_SERVER=worker out.", base::exit_usage);
  }
  const int size = 2 * a.pairs + servers_of(settings);
  transports::context here{0, a.pairs > 1 ? 2 : size, nodes_of(settings), settings};
  const auto cannot_be_used = [&](const std::string& why) {
    for (const std::uint64_t bytes : a.sizes)
      emit({a.op, a.transports.front(), bytes, false, 0, 1, {}, {}, "it cannot be used here: " + why});
  };
  for (const auto& entry : transports::registry()) {
    if (launched || entry.name != a.transports.front()) continue;
    if (const std::string why = transports::unusable_apart(entry, here); !why.empty()) {
      cannot_be_used(why);
      return 0;
    }
  }
  arch::ns_per_cycle();
  auto job = launched ? tobi::bootstrap::start(settings, 0, 1) : tobi::bootstrap::fork_workers(size);
  if (job->size() != size) {
    base::fatal_everywhere(
        job->rank(),
        size == 2 ? "tobi-perf measures between two processes; start two, or give --pairs for more."
        : a.pairs != 1
            ? fmt::format("tobi-perf --pairs {} measures between {} processes; start so many.", a.pairs, size)
            : fmt::format("tobi-perf measures between two processes, and TOBI_AMO_SERVER=worker takes {} for their "
                          "nodes; start {}.",
                          size - 2, size),
        base::exit_usage);
  }
  pair* pairs = nullptr;
  if (a.pairs > 1) {
    if (job->rank() != 0)
      emit_to(a, {[](const arguments&, const row&) {}, [](const arguments&, const std::string&) {}});
    auto two = std::make_unique<pair>(std::move(job));
    pairs = two.get();
    job = std::move(two);
  }
  here.rank = job->rank();
  if (launched && !a.child) {
    if (job->nodes().back() != 0) here.nodes.assign(job->nodes().begin(), job->nodes().end());
    if (const std::string why = agree(*job, here, a); !why.empty()) {
      if (job->rank() == 0) cannot_be_used(why);
      job->finalize();
      return 0;
    }
  }
  return measure_in(*job, settings, here, a, pairs);
}

}  // namespace tobi_perf
