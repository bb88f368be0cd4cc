// SPDX-License-Identifier: Apache-2.0
// What the independent loops of tests/perf/loops have in common. They share nothing with tobi-perf, but for two
// instructions of the processor: they are there to say whether it measures what it says. Two processes, each on a core
// of its own; rank 0 measures and prints
//   OPERATION BYTES MEDIAN-IN-MICROSECONDS
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "arch/cpu.hpp"

namespace loops {

[[noreturn]] inline void give_up(const char* what) {
  std::fprintf(stderr, "loop: %s failed.\n", what);
  std::_Exit(1);
}

inline void bind_to_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) give_up("sched_setaffinity");
}

inline void* shared_memory(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) give_up("mmap");
  return at;
}

/// What two processes tell each other while they set up, and when the target may end.
struct board {
  std::atomic<int> steps[2];
  std::atomic<bool> over;
  std::byte cards[2][1024];

  /// Both have done step N.
  void meet(int rank, int n) {
    steps[rank] = n;
    while (steps[1 - rank] < n) sched_yield();
  }
};

/// Forks; returns the rank of each, which is bound to the core of that number.
inline int two_processes() {
  const int rank = fork() == 0 ? 1 : 0;
  bind_to_core(rank);
  return rank;
}
/// The end of both.
inline void end_of(int rank) {
  if (rank == 1) std::_Exit(0);
  int status = 0;
  wait(&status);
  if (status != 0) give_up("the target");
}

inline double median(std::vector<double> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

/// Microseconds of a step of the processor's counter. In an emulated machine the system's clock takes microseconds, and
/// the counter does not.
inline double step_us() {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  const std::uint64_t first = tobi::arch::cycles();
  while (clock::now() - begin < std::chrono::milliseconds(20)) {
  }
  const std::uint64_t steps = tobi::arch::cycles() - first;
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count() / static_cast<double>(steps);
}

/// Prints the median of ONE(), which takes a time that is DIRECTIONS times what is to be told. Short ones are measured
/// in groups of two microseconds, of which a look at the counter is a hundredth.
template <class One>
void measure(const char* operation, std::size_t bytes, int directions, const One& one) {
  const double step = step_us();
  const auto of_some = [&](int n) {
    const std::uint64_t begin = tobi::arch::cycles();
    for (int i = 0; i < n; ++i) one();
    return static_cast<double>(tobi::arch::cycles() - begin) * step / n;
  };
  double least = of_some(100);
  for (int i = 0; i < 5; ++i) least = std::min(least, of_some(100));
  const int each = least < 2 ? static_cast<int>(2 / least) + 1 : 1;
  std::vector<double> samples;
  for (double spent = 0; spent < 100e3 || samples.size() < 50;) {
    samples.push_back(of_some(each) / directions);
    spent += samples.back() * each * directions;
  }
  std::printf("%s %zu %.6f\n", operation, bytes, median(samples));
  std::fflush(stdout);
}

}  // namespace loops
