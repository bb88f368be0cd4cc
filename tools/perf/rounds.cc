// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/rounds.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>
#include <thread>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "arch/topology.hpp"
#include "tools/samples.hpp"

namespace tobi_perf {

namespace {

namespace arch = tobi::arch;

constexpr double confidence = 0.95;
constexpr double most_lost = 0.05;
constexpr double least_lost_ns = 500'000;  // what steers the measurement takes some, too
constexpr double slower = 1.1;
constexpr double other_line = 1.5;
constexpr std::uint64_t pause_ns = 1'000'000;

// The kernel's count of a core, in ticks: "cpu3 user nice system idle iowait irq softirq steal ...".
std::uint64_t stolen_ms() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return 0;
  std::ifstream stat("/proc/stat");
  std::uint64_t ticks = 0;
  for (std::string line; std::getline(stat, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    if (line[3] == ' ') continue;  // of all cores
    int cpu = 0;
    std::array<std::uint64_t, 8> times{};
    words >> cpu;
    for (std::uint64_t& t : times) words >> t;
    if (words && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &mine)) ticks += times.back();
  }
  return ticks * 1000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
}

}  // namespace

std::optional<interval> interval_of(std::vector<double> values) {
  const std::size_t n = values.size();
  // Outside of the k-th from each end lies the true median as often as n coins show less than k heads, twice.
  double below = 0;
  double choices = 1;  // n over k
  std::size_t k = 0;
  const double all = std::exp2(static_cast<double>(n));
  while (k < n / 2 && 1 - 2 * (below + choices) / all >= confidence) {
    below += choices;
    choices = choices * static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  if (k == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return interval{values[k - 1], values[n - k]};
}

std::optional<interval> interval_of_parts(const std::vector<double>& samples) {
  const std::size_t parts = std::min<std::size_t>(12, samples.size());
  std::vector<double> medians;
  for (std::size_t i = 0; i < parts; ++i) {
    const auto at = [&](std::size_t part) {
      return samples.begin() + static_cast<std::ptrdiff_t>(part * samples.size() / parts);
    };
    medians.push_back(tobi_tools::median({at(i), at(i + 1)}));
  }
  return interval_of(medians);
}

process_facts own_facts() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return {static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec), stolen_ms()};
}

// The kernel's account of this thread: nanoseconds on a core, nanoseconds in which it waited for one, and turns.
std::uint64_t waited_for_core_ns() {
  std::ifstream account("/proc/thread-self/schedstat");
  std::uint64_t ran = 0;
  std::uint64_t waited = 0;
  account >> ran >> waited;
  return account ? waited : 0;
}

bool counts_waits_for_cores() { return std::ifstream("/proc/thread-self/schedstat").good(); }

double core_ns() {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t begin = arch::cycles();
    std::uint64_t x = begin | 1;
    for (int step = 0; step < 5000; ++step) {
      x = x * 0x9e3779b97f4a7c15 + 1;
      asm volatile("" : "+r"(x));  // one after the other
    }
    best = std::min(best, arch::cycles_to_ns(arch::cycles() - begin));
  }
  return best;
}

// Both spin, so no more of it than a millisecond. The best of some goes there and back: what the caches and the way
// between them can do.
std::optional<double> line_ns(int cpu) {
  constexpr int batches = 16;
  constexpr std::uint32_t trips = 200;
  alignas(128) std::atomic<std::uint32_t> turn{0};
  std::atomic<bool> there{false};
  std::atomic<bool> cannot{false};
  const auto reply = [&] {
    if (!arch::bind_to_cpu(cpu).empty()) {
      cannot.store(true);
      return;
    }
    there.store(true);
    for (std::uint32_t i = 0; i < batches * trips; ++i) {
      while (turn.load(std::memory_order_acquire) != 2 * i + 1) arch::pause();
      turn.store(2 * i + 2, std::memory_order_release);
    }
  };
  std::thread other;
  try {
    other = std::thread(reply);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  while (!there.load() && !cannot.load()) arch::pause();
  double best = std::numeric_limits<double>::max();
  for (std::uint32_t batch = 0, i = 0; batch < batches && !cannot.load(); ++batch) {
    const std::uint64_t begin = arch::cycles();
    for (std::uint32_t t = 0; t < trips; ++t, ++i) {
      turn.store(2 * i + 1, std::memory_order_release);
      while (turn.load(std::memory_order_acquire) != 2 * i + 2) arch::pause();
    }
    best = std::min(best, arch::cycles_to_ns(arch::cycles() - begin) / (2 * trips));
  }
  other.join();
  if (cannot.load()) return std::nullopt;
  return best;
}

std::string disturbance(const round_taken& r, const std::vector<round_taken>& all) {
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const char* const whose = rank == 0 ? "rank 0" : r.other;
    if (const double lost = static_cast<double>(r.without_core_ns[rank]);
        lost > std::max(least_lost_ns, most_lost * static_cast<double>(r.ns))) {
      return fmt::format("others had the core of {} for {:.0f} % of a round", whose,
                         100 * lost / static_cast<double>(r.ns));
    }
    if (const std::uint64_t ms = r.of[rank].stolen_ms; ms != 0) {
      return fmt::format("the hypervisor took {} ms of {} of {}", ms, r.ns / 1'000'000, whose);
    }
    double best = r.core_ns[rank];
    for (const round_taken& other : all) {
      if (other.core_ns[rank] > 0) best = std::min(best, other.core_ns[rank]);
    }
    if (r.core_ns[rank] > slower * best) {
      return fmt::format("the core of {} had {:.0f} % of its speed", whose, 100 * best / r.core_ns[rank]);
    }
  }
  const std::uint64_t longer = r.longest_ns - r.usual_ns;
  if (longer > std::max({pause_ns, r.ns / 10, r.usual_ns})) {
    return fmt::format("it stood still for {:.1f} ms", static_cast<double>(longer) / 1e6);
  }
  return "";
}

std::string changed_between(const std::optional<double>& before, const std::optional<double>& after) {
  if (!before || !after || std::max(*before, *after) < other_line * std::min(*before, *after)) return "";
  return fmt::format("a cache line went from core to core in {:.0f} ns before it, and in {:.0f} ns behind it", *before,
                     *after);
}

}  // namespace tobi_perf
