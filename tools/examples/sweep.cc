// SPDX-License-Identifier: Apache-2.0
// A sweep over parameters: each of 400 jobs simulates a queue under one of 20 loads until it is empty. Some jobs take a
// thousand times as long as others, and nobody knows which. The loop has no grain, and what follows a long job can be
// stolen while that runs. The results are in global memory, in the order of the jobs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <tobi/tobi.hpp>

constexpr std::size_t jobs = 400, loads = 20;

struct result {
  std::uint32_t ticks;    // until the queue was empty
  std::uint32_t longest;  // that it was meanwhile
};

// Random number I of a job. Tasks share no generator.
std::uint64_t random(std::uint64_t job, std::uint64_t i) {
  std::uint64_t x = (job << 32 | i) * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// Customers go in half of all ticks, and come in less than half of them.
result simulate(std::size_t job) {
  constexpr std::uint64_t often = 1 << 12;
  const std::uint64_t arrivals = often / 2 - loads + job % loads;
  std::uint32_t waiting = 50;
  result r{0, waiting};
  for (; waiting > 0; ++r.ticks) {
    const std::uint64_t chance = random(job, r.ticks);
    if (chance % often < arrivals) ++waiting;
    if (chance >> 63 == 0) --waiting;
    r.longest = std::max(r.longest, waiting);
  }
  return r;
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const auto results = tobi::allocate_all<result>(jobs);
  tobi::run([=] { tobi::parallel_for(std::size_t{0}, jobs, [=](std::size_t job) { results[job] = simulate(job); }); });
  if (rt.rank() == 0) {
    const auto table = tobi::checkout(results, tobi::mode::read);
    std::uint64_t checksum = 0, ticks = 0;
    for (const result& r : table) {
      checksum = checksum * 31 + r.ticks + r.longest;
      ticks += r.ticks;
    }
    const auto* const last = std::ranges::max_element(table, {}, &result::ticks);
    std::printf("%zu queues, checksum %016jx, %ju ticks, %u of them in job %td\n", jobs, checksum, ticks, last->ticks,
                last - table.begin());
    for (std::size_t job = 0; job < jobs; job += loads) {  // some are computed again
      if (simulate(job).ticks != table[job].ticks) return 1;
    }
  }
}
