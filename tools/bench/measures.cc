// SPDX-License-Identifier: Apache-2.0
// Measurements that compare: frames on the heap with frames in place, and a fork with a call.
#include "tools/bench/measures.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <tobi/runtime.hpp>
#include <tobi/task.hpp>
#include <vector>

#include "tools/bench/answers.hpp"
#include "tools/bench/apps/variant.hpp"
#include "tools/bench/cycles.hpp"
#include "tools/bench/run.hpp"
#include "tools/bench/timing.hpp"

namespace tobi_bench {

namespace {

int measure_frames(const arguments& a) {
  tobi::runtime rt(tobi::options{.workers = a.workers});
  parallel::heap_frames_prepare(rt.rank());
  const std::uint64_t n = a.frames.n;
  std::vector<double> in_place;
  std::vector<double> on_heap;
  std::uint64_t steals = 0;
  bool right = true;
  for (int i = -1 - a.warmup; i < a.repeat; ++i) {
    rt.reset_stats();
    std::uint64_t live = 0;
    const double live_s = seconds_of([&] { live = tobi::run([=] { return parallel::fib(n); }); });
    const tobi::statistics s = rt.stats();
    std::uint64_t heap = 0;
    const double heap_s = seconds_of([&] { heap = tobi::run([=] { return parallel::fib_in_heap_frames(n); }); });
    right = right && live == heap;
    if (i < 0) continue;
    in_place.push_back(live_s);
    on_heap.push_back(heap_s);
    steals += s.steals_ok;
  }
  if (rt.rank() != 0) return 0;
  if (!right) fmt::print(stderr, "tobi-bench: the two ways to compute fib({}) gave different numbers\n", n);
  const double ratio = median(on_heap) / median(in_place);
  const double stolen = static_cast<double>(steals) / (fib_forks(n) * a.repeat);
  if (a.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"app", "frames"},
                                              {"n", n},
                                              {"workers", rt.size()},
                                              {"in_place_seconds", median(in_place)},
                                              {"heap_seconds", median(on_heap)},
                                              {"heap_over_in_place", ratio},
                                              {"stolen_per_created", stolen},
                                              {"verified", right}}
                           .dump());
  } else {
    fmt::print("frames: fib({}) on {} workers, medians of {} runs in turn\n", n, rt.size(), a.repeat);
    fmt::print("  in place   {:10.4f} s {:8.2f} ns per fork\n", median(in_place),
               median(in_place) * 1e9 / fib_forks(n));
    fmt::print("  on the heap{:10.4f} s {:8.2f} ns per fork, {:.2f} times as long\n", median(on_heap),
               median(on_heap) * 1e9 / fib_forks(n), ratio);
    fmt::print("  stolen / created: {:.3e}\n", stolen);
  }
  return right ? 0 : 1;
}

[[gnu::noinline]] std::uint64_t empty_task(std::uint64_t i) {
  asm volatile("" : "+r"(i));
  return i;
}

// Cycles of N times fork and join of a task that only calls, and of N calls.
struct fork_cycles {
  double fork;
  double call;
};
fork_cycles count_forks(std::uint64_t n) {
  std::uint64_t sum = 0;
  std::uint64_t begin = cycles_now();
  for (std::uint64_t i = 0; i < n; ++i) {
    auto t = tobi::spawn([=] { return empty_task(i); });
    sum += t.join();
  }
  const auto forks = static_cast<double>(cycles_now() - begin);
  begin = cycles_now();
  for (std::uint64_t i = 0; i < n; ++i) sum -= empty_task(i);
  const auto calls = static_cast<double>(cycles_now() - begin);
  if (sum != 0) return {-1, -1};
  return {forks / static_cast<double>(n), calls / static_cast<double>(n)};
}

int measure_fork_cost(const arguments& a) {
  tobi::runtime rt(tobi::options{.workers = 1});
  const std::uint64_t n = a.fork_cost.forks;
  std::vector<double> forks;
  std::vector<double> calls;
  for (int i = -1 - a.warmup; i < a.repeat; ++i) {
    const fork_cycles one = tobi::run([=] { return count_forks(n); });
    if (one.fork < 0) {
      fmt::print(stderr, "tobi-bench: {} tasks gave another sum than {} calls\n", n, n);
      return 1;
    }
    if (i < 0) continue;
    forks.push_back(one.fork);
    calls.push_back(one.call);
  }
  if (a.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"app", "fork-cost"},
                                              {"forks", n},
                                              {"deque", rt.deque_name()},
                                              {"fork_cycles", median(forks)},
                                              {"call_cycles", median(calls)},
                                              {"overhead_cycles", median(forks) - median(calls)}}
                           .dump());
  } else {
    fmt::print("fork-cost: {} tasks, {} on one worker, medians of {} runs, in cycles of the core's counter\n", n,
               rt.deque_name(), a.repeat);
    fmt::print("  fork, call and join {:8.1f}\n  call alone          {:8.1f}\n  creation of a task  {:8.1f}\n",
               median(forks), median(calls), median(forks) - median(calls));
  }
  return 0;
}

struct row {
  std::string_view app;
  int (*measure)(const arguments&);
};
constexpr row table[] = {
    {"frames", measure_frames}, {"fork-cost", measure_fork_cost},
    {"ramp", measure_ramp},     {"lb-synthetic", measure_lb_synthetic},
    {"space", measure_space},   {"steal-breakdown", measure_breakdown},
};

}  // namespace

int run_measure(const arguments& a) {
  for (const row& r : table) {
    if (r.app == a.app) return r.measure(a);
  }
  return 2;  // no name that arguments.cc lets pass
}

}  // namespace tobi_bench
