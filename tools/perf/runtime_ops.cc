// SPDX-License-Identifier: Apache-2.0
// Steals and barriers as programs see them: measured through tobi/tobi.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <tobi/tobi.hpp>

#include "arch/clock.hpp"
#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"
#include "tools/perf/measure.hpp"

namespace tobi_perf {

namespace {

long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}

constexpr long grain = 14;  // fib(14) takes some microseconds: about as long as a steal
constexpr int pairs_of_a_run = 200;

// Halves of equal length, again and again: the continuation goes to the other worker nearly every time.
long halves(int pairs) {
  long sum = 0;
  for (int i = 0; i < pairs; ++i) {
    auto x = tobi::spawn([] { return fib(grain); });
    sum += fib(grain);
    sum += x.join();
  }
  return sum;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The clock of rank 0 decides for all: a collective loop must end on all at once.
bool rank0_says(bool more) {
  return tobi::run([=] { return more ? 1 : 0; }) == 1;
}

// A row of each phase of the steals of WHOLE. One that a deque does not have takes no time.
void emit_phases(const row& whole, const std::array<std::vector<double>, tobi::steal_phases>& phases) {
  constexpr std::array<const char*, tobi::steal_phases> names{"empty check",    "lock",   "steal",
                                                              "stack transfer", "unlock", "resume"};
  for (std::size_t i = 0; i < phases.size(); ++i) {
    row part = whole;
    part.op += std::string(": ") + names[i];
    part.round_trips.reset();
    part.ns = summarize(phases[i]);
    part.median_within = interval_of_parts(phases[i]);
    if (part.ns->max > 0) emit(part);
  }
}

int measure_steals(const arguments& a) {
  // Of a launcher's processes, or of those that met, each is one worker.
  tobi::runtime rt(tobi::options{.workers = tobi::bootstrap::launched() ? tobi::one_per_process : 2});
  if (rt.size() != 2) {
    tobi::base::fatal_everywhere(rt.rank(), "tobi-perf measures steals between two workers; start two processes.",
                                 tobi::base::exit_usage);
  }
  if (rt.computing() < 2) {
    const std::string why = "the other of the two workers executes the atomics (TOBI_AMO_SERVER=worker): nobody steals";
    if (rt.rank() == 0) emit({"steal", std::string(rt.transport_name()), {}, calls::transport, 0, 1, {}, {}, why});
    return 0;
  }
  const double limit_s = a.duration_s > 0 ? a.duration_s : 5;
  const std::uint64_t wanted = a.iterations != 0 ? a.iterations : a.duration_s > 0 ? ~std::uint64_t{0} : 20000;
  (void)tobi::run([] { return halves(pairs_of_a_run); });
  std::vector<double> samples;
  std::uint64_t steals = 0;
  std::array<std::vector<double>, tobi::steal_phases> phases;
  double round_trips = 0;
  double bytes = 0;
  const auto begin = std::chrono::steady_clock::now();
  do {
    rt.reset_stats();
    (void)tobi::run([] { return halves(pairs_of_a_run); });
    const tobi::statistics s = rt.stats();
    if (s.steals_ok == 0) continue;
    samples.push_back(s.steal_latency_ns());
    for (std::size_t i = 0; i < phases.size(); ++i) {
      phases[i].push_back(tobi::arch::cycles_to_ns(s.steal_cycles[i]) / static_cast<double>(s.steals_ok));
    }
    steals += s.steals_ok;
    round_trips += static_cast<double>(s.steal_round_trips);
    bytes += static_cast<double>(s.stolen_bytes);
  } while (rank0_says(steals < wanted && seconds_since(begin) < limit_s));
  if (rt.rank() != 0) return 0;
  row r{"steal." + std::string(rt.deque_name()),
        std::string(rt.transport_name()),
        {},
        calls::transport,
        steals,
        1,
        {},
        {},
        ""};
  if (samples.empty()) {
    r.note = fmt::format("nothing was stolen in {} s", limit_s);
  } else {
    r.ns = summarize(samples);
    r.median_within = interval_of_parts(samples);
    r.operations_per_sample = std::max<std::uint64_t>(steals / samples.size(), 1);
    r.round_trips = round_trips / static_cast<double>(steals);
    emit_note(fmt::format("{} on {}: {:.2f} dependent round trips and {:.0f} bytes of stack per steal", r.op,
                          r.transport, *r.round_trips, bytes / static_cast<double>(steals)));
  }
  emit(r);
  if (a.sheet && r.ns) emit_phases(r, phases);
  return 0;
}

struct extent {
  std::uint64_t warmup;
  std::uint64_t at_once;
  double duration_s;
};

int measure_barrier(const arguments& a) {
  tobi::runtime rt(tobi::options{.workers = a.workers});
  const auto timed = [&] {
    const auto begin = std::chrono::steady_clock::now();
    rt.barrier();
    return seconds_since(begin) * 1e9;
  };
  // A rank on another host may have been started with other arguments, or none.
  const extent e = tobi::run([of_rank0 = extent{a.warmup,
                                                a.iterations != 0  ? a.iterations
                                                : a.duration_s > 0 ? 100
                                                                   : 10000,
                                                a.duration_s}] { return of_rank0; });
  for (std::uint64_t i = 0; i < e.warmup; ++i) rt.barrier();
  std::vector<double> samples;
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (std::uint64_t i = 0; i < e.at_once; ++i) samples.push_back(timed());
  } while (e.duration_s > 0 && rank0_says(seconds_since(begin) < e.duration_s));
  if (rt.rank() != 0) return 0;
  emit_note(fmt::format("barrier on {}: {} worker{}", rt.transport_name(), rt.size(), rt.size() == 1 ? "" : "s"));
  emit({"barrier",
        std::string(rt.transport_name()),
        {},
        calls::transport,
        samples.size(),
        1,
        summarize(samples),
        {},
        ""});
  return 0;
}

}  // namespace

int measure_runtime(const arguments& a) { return a.op == "steal" ? measure_steals(a) : measure_barrier(a); }

}  // namespace tobi_perf
