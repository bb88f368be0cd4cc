// SPDX-License-Identifier: Apache-2.0
// A job that does nothing but wait for all: nobody leaves a fence of the bootstrap before all have come to it, also
// where nothing was put since the last one. In turn one rank comes late. The times of all are compared at the end, so
// the hosts must have one clock, as namespaces of one machine have. Prints the number of fences that held.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/settings.hpp"

namespace {

constexpr std::size_t fences = 60;

struct visit {
  std::int64_t came_ns;
  std::int64_t left_ns;
};

std::int64_t time_of_day_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int main() {
  tobi::base::settings in_force = tobi::base::read_settings();
  const auto job = tobi::bootstrap::start(in_force, 0, 1);
  std::vector<visit> mine(fences);
  for (std::size_t i = 0; i < fences; ++i) {
    if (i % static_cast<std::size_t>(job->size()) == static_cast<std::size_t>(job->rank())) {
      const timespec late{0, 2'000'000};
      nanosleep(&late, nullptr);
    }
    mine[i].came_ns = time_of_day_ns();
    job->fence();
    mine[i].left_ns = time_of_day_ns();
  }
  job->put("visits", std::as_bytes(std::span(mine)));
  job->fence();
  if (job->rank() == 0) {
    std::vector<visit> all(fences, {0, INT64_MAX});
    for (int r = 0; r < job->size(); ++r) {
      std::vector<visit> theirs(fences);
      std::memcpy(theirs.data(), job->get(r, "visits").data(), fences * sizeof(visit));
      for (std::size_t i = 0; i < fences; ++i) {
        all[i].came_ns = std::max(all[i].came_ns, theirs[i].came_ns);
        all[i].left_ns = std::min(all[i].left_ns, theirs[i].left_ns);
      }
    }
    const auto held = std::count_if(all.begin(), all.end(), [](const visit& v) { return v.came_ns <= v.left_ns; });
    std::printf("%d ranks, %ld of %zu fences held\n", job->size(), static_cast<long>(held), fences);
  }
  job->finalize();
}
