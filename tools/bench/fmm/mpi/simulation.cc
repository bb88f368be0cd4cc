// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fmm/mpi/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "tools/bench/fmm/mpi/essential.hpp"
#include "tools/bench/timing.hpp"

namespace tobi_bench::fmm_mpi {

namespace {

// Bodies repel each other: those that attract each other come arbitrarily near, where no step is short enough.
constexpr double time_step = 0.01;

// The walls of the cube reflect.
void drift_along(double& x, double& velocity) {
  x += velocity * time_step;
  if (x >= 0.0 && x < 1.0) return;
  velocity = -velocity;
  x = std::clamp(x < 0.0 ? -x : 2.0 - x, 0.0, std::nextafter(1.0, 0.0));
}

}  // namespace

run_times simulation::run() {
  run_times times;
  make_bodies();
  with_.barrier();
  const double waited = with_.waited_s();
  times.seconds = seconds_of([&] {
    for (std::uint64_t i = 0; i < asked_.steps; ++i) {
      step(i > 0, times);
      with_.barrier();
    }
  });
  times.waiting = with_.waited_s() - waited;
  times.work = std::accumulate(all_.work.begin(), all_.work.end(), 0.0);
  return times;
}

/// A part of all by their numbers, as files of bodies are read. Their places have nothing to do with it.
void simulation::make_bodies() {
  const auto share = [&](int rank) {
    return asked_.n / static_cast<std::uint64_t>(with_.size()) * static_cast<std::uint64_t>(rank) +
           std::min(asked_.n % static_cast<std::uint64_t>(with_.size()), static_cast<std::uint64_t>(rank));
  };
  const std::uint64_t first = share(with_.rank()), end = share(with_.rank() + 1);
  all_ = {};
  all_.resize(end - first);
  for (std::uint64_t i = first; i < end; ++i) {
    all_.bodies[i - first] = make_particle(asked_.shape, asked_.seed, i, asked_.n);
    all_.numbers[i - first] = i;
  }
}

void simulation::step(bool moves, run_times& times) {
  const auto timed = [&](phase which, auto f) {
    const double waited = with_.waited_s();
    const double seconds = seconds_of(f);
    times.phases[static_cast<std::size_t>(which)] += seconds - (with_.waited_s() - waited);
  };
  if (moves) {
    timed(phase::move, [&] {
      kick();
      drift();
    });
  }
  timed(phase::partition, [&] { partition(with_, all_, moves ? asked_.by : balance::count); });
  timed(phase::tree, [&] { tree_.build(all_, asked_.how.ncrit); });
  timed(phase::upward, [&] { tree_.make_multipoles(all_, asked_.how.order, asked_.how.threads); });
  std::fill(all_.fields.begin(), all_.fields.end(), laplace::field{});
  std::fill(all_.work.begin(), all_.work.end(), 0.0);

  std::optional<essential_trees> trees;
  timed(phase::essential, [&] { trees.emplace(with_, asked_.how, tree_, all_); });
  const auto add = [&](interactions some) {
    times.computed.cells += some.cells;
    times.computed.bodies += some.bodies;
  };
  timed(phase::own, [&] {
    const source_tree own = tree_.as_source(all_);
    add(interact(asked_.how, pass::first, tree_, all_, {&own, 1}, [&] { trees->progress(); }));
  });
  timed(phase::others, [&] {
    add(interact(asked_.how, pass::last, tree_, all_, trees->all_received(), [] {}));
    times.sent_bytes += trees->sent_bytes();
    trees.reset();
  });
  if (moves) timed(phase::move, [&] { kick(); });
}

// Leapfrog: half a kick and a drift, and half a kick by the fields at the new place.
void simulation::kick() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    laplace::vec3& v = all_.velocities[i];
    const laplace::vec3& force = all_.fields[i].force;
    v = {v.x + force.x * (time_step / 2), v.y + force.y * (time_step / 2), v.z + force.z * (time_step / 2)};
  }
}

void simulation::drift() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    laplace::vec3 &at = all_.bodies[i].at, &v = all_.velocities[i];
    drift_along(at.x, v.x);
    drift_along(at.y, v.y);
    drift_along(at.z, v.z);
  }
}

}  // namespace tobi_bench::fmm_mpi
