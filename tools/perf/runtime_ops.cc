// SPDX-License-Identifier: Apache-2.0
// Steals and barriers as programs see them: measured through tobi/tobi.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <tobi/tobi.hpp>

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

int measure_steals(const arguments& a) {
  tobi::runtime rt(tobi::options{.workers = 2});
  if (rt.computing() < 2) {
    const std::string why = "the other of the two workers executes the atomics (TOBI_AMO_SERVER=worker): nobody steals";
    if (rt.rank() == 0) emit({"steal", std::string(rt.transport_name()), {}, false, 0, 1, {}, {}, why});
    return 0;
  }
  const std::uint64_t wanted = a.iterations != 0 ? a.iterations : 20000;
  (void)tobi::run([] { return halves(pairs_of_a_run); });
  std::vector<double> samples;
  std::uint64_t steals = 0;
  double round_trips = 0;
  double bytes = 0;
  const auto begin = std::chrono::steady_clock::now();
  do {
    rt.reset_stats();
    (void)tobi::run([] { return halves(pairs_of_a_run); });
    const tobi::statistics s = rt.stats();
    if (s.steals_ok == 0) continue;
    samples.push_back(s.steal_latency_ns());
    steals += s.steals_ok;
    round_trips += static_cast<double>(s.steal_round_trips);
    bytes += static_cast<double>(s.stolen_bytes);
  } while (rank0_says(steals < wanted && seconds_since(begin) < 5));
  if (rt.rank() != 0) return 0;
  row r{"steal." + std::string(rt.deque_name()), std::string(rt.transport_name()), {}, false, steals, 1, {}, {}, ""};
  if (samples.empty()) {
    r.note = "nothing was stolen in 5 s";
  } else {
    r.ns = summarize(samples);
    r.operations_per_sample = std::max<std::uint64_t>(steals / samples.size(), 1);
    emit_note(fmt::format("{} on {}: {:.2f} dependent round trips and {:.0f} bytes of stack a steal", r.op, r.transport,
                          round_trips / static_cast<double>(steals), bytes / static_cast<double>(steals)));
  }
  emit(r);
  return 0;
}

int measure_barrier(const arguments& a) {
  tobi::runtime rt(tobi::options{.workers = a.workers});
  const auto timed = [&] {
    const auto begin = std::chrono::steady_clock::now();
    rt.barrier();
    return seconds_since(begin) * 1e9;
  };
  for (std::uint64_t i = 0; i < a.warmup; ++i) rt.barrier();
  const std::uint64_t count = a.iterations != 0 ? a.iterations : 10000;
  std::vector<double> samples;
  samples.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) samples.push_back(timed());
  if (rt.rank() != 0) return 0;
  emit_note(fmt::format("barrier on {}: {} worker{}", rt.transport_name(), rt.size(), rt.size() == 1 ? "" : "s"));
  emit({"barrier", std::string(rt.transport_name()), {}, false, count, 1, summarize(samples), {}, ""});
  return 0;
}

}  // namespace

int measure_runtime(const arguments& a) { return a.op == "steal" ? measure_steals(a) : measure_barrier(a); }

}  // namespace tobi_perf
