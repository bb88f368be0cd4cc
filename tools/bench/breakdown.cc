// SPDX-License-Identifier: Apache-2.0
// What a steal spends its time on (uni-address paper, figure 10 and table 3): two workers take a continuation with some
// 3 KB of stack from each other, with each deque in turn. Each deque runs in a job of its own, in a child process.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tobi/runtime.hpp>
#include <tobi/task.hpp>

#include "tools/bench/apps/variant.hpp"
#include "tools/bench/measures.hpp"

namespace tobi_bench {

namespace {

constexpr const char* phase_names[tobi::steal_phases] = {"empty check",    "lock",   "steal",
                                                         "stack transfer", "unlock", "resume"};
constexpr std::uint64_t grain = 14;  // fib(14) takes about as long as a steal
constexpr std::size_t frame_bytes = 2800;

// The child and what follows its fork take equally long, so the continuation goes to the other worker nearly each time.
std::uint64_t halves(std::uint64_t pairs) {
  volatile char frame[frame_bytes];
  frame[0] = 1;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    auto x = tobi::spawn([] { return parallel::fib(grain); });
    sum += parallel::fib(grain) + static_cast<std::uint64_t>(frame[0]) - 1;
    sum += x.join();
  }
  return sum;
}

int measure_one(const arguments& a, const char* deque) {
  setenv("TOBI_DEQUE", deque, 1);
  tobi::runtime rt(tobi::options{.workers = a.workers == 0 ? 2 : a.workers});
  const std::uint64_t pairs = a.breakdown.pairs;
  (void)tobi::run([] { return halves(200); });
  rt.reset_stats();
  const std::uint64_t got = tobi::run([=] { return halves(pairs); });
  const tobi::statistics s = rt.stats();
  if (rt.rank() != 0) return 0;
  const std::uint64_t right = 2 * pairs * elided::fib(grain);
  if (got != right) {
    fmt::print(stderr, "tobi-bench: {} pairs gave {} with the deque {}, which is wrong: {} is right\n", pairs, got,
               deque, right);
    return 1;
  }
  const auto mean = [](std::uint64_t sum, std::uint64_t n) {
    return n == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(n);
  };
  double total = 0;
  nlohmann::ordered_json line{{"app", "steal-breakdown"}, {"deque", deque}, {"transport", rt.transport_name()}};
  if (!a.json) {
    fmt::print("steal-breakdown: {}, {} steals over {}, {:.0f} bytes of stack, {:.2f} round trips; mean cycles\n",
               deque, s.steals_ok, rt.transport_name(), mean(s.stolen_bytes, s.steals_ok), s.round_trips_per_steal());
  }
  for (std::size_t i = 0; i < tobi::steal_phases; ++i) {
    const double cycles = mean(s.steal_cycles[i], s.steals_ok);
    total += cycles;
    line[phase_names[i]] = cycles;
    if (!a.json) fmt::print("  {:<16}{:>12.0f}\n", phase_names[i], cycles);
  }
  line["suspend"] = mean(s.suspend_cycles, s.outstanding_joins);
  line["total"] = total;
  line["steals"] = s.steals_ok;
  line["round_trips"] = s.round_trips_per_steal();
  line["stolen_bytes_per_steal"] = mean(s.stolen_bytes, s.steals_ok);
  if (a.json) {
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("  {:<16}{:>12.0f}\n", "a steal in all", total);
    fmt::print("  {:<16}{:>12.0f}  (at {} joins that had to wait)\n", "suspend",
               mean(s.suspend_cycles, s.outstanding_joins), s.outstanding_joins);
  }
  return 0;
}

}  // namespace

int measure_breakdown(const arguments& a) {
  for (const char* deque : {"steal_word", "the"}) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) {
      fmt::print(stderr, "tobi-bench: cannot start a process for the deque {}\n", deque);
      return 1;
    }
    if (child == 0) std::exit(measure_one(a, deque));
    int how = 0;
    waitpid(child, &how, 0);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) return WIFEXITED(how) ? WEXITSTATUS(how) : 1;
  }
  return 0;
}

}  // namespace tobi_bench
