// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fmm/mpi/direct.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tobi_bench::fmm_mpi {

namespace {

struct sample {
  std::uint64_t number;
  laplace::vec3 at;
  laplace::field got;
};

std::vector<sample> gather_samples(team& with, const options& asked, const particles& own) {
  const std::uint64_t count = std::min(asked.check, asked.n);
  std::vector<sample> some;
  for (std::size_t i = 0; i < own.size(); ++i) {
    // The least k with k n / count >= number.
    const std::uint64_t number = own.numbers[i], k = (number * count + asked.n - 1) / asked.n;
    if (k < count && k * asked.n / count == number) some.push_back({number, own.bodies[i].at, own.fields[i]});
  }
  const std::vector<int> counts = with.gather_all(static_cast<int>(some.size()));
  std::vector<int> at(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), at.begin(), 0);
  std::vector<sample> all(static_cast<std::size_t>(at.back() + counts.back()));
  const datatype_of<sample> type;
  with.waiting([&] {
    MPI_Allgatherv(some.data(), static_cast<int>(some.size()), type.get(), all.data(), counts.data(), at.data(),
                   type.get(), with.all());
  });
  std::sort(all.begin(), all.end(), [](const sample& a, const sample& b) { return a.number < b.number; });
  return all;
}

double square(double x) { return x * x; }

}  // namespace

errors measured_errors(team& with, const options& asked, const particles& own) {
  const std::vector<sample> samples = gather_samples(with, asked, own);
  std::vector<double> sums(4 * samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (const laplace::body& source : own.bodies) {
      const laplace::vec3 &a = samples[i].at, &b = source.at, d{a.x - b.x, a.y - b.y, a.z - b.z};
      const double squared = square(d.x) + square(d.y) + square(d.z);
      if (squared == 0.0) continue;
      const double potential = source.charge / std::sqrt(squared), force = potential / squared;
      sums[4 * i] += potential;
      sums[4 * i + 1] += force * d.x;
      sums[4 * i + 2] += force * d.y;
      sums[4 * i + 3] += force * d.z;
    }
  }
  with.reduce_all(sums, MPI_SUM);
  errors wrong, all;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const laplace::field& got = samples[i].got;
    const double* const right = &sums[4 * i];
    wrong.potential += square(got.potential - right[0]);
    wrong.force += square(got.force.x - right[1]) + square(got.force.y - right[2]) + square(got.force.z - right[3]);
    all.potential += square(right[0]);
    all.force += square(right[1]) + square(right[2]) + square(right[3]);
  }
  const auto relative = [](double part, double whole) { return part == 0.0 ? 0.0 : std::sqrt(part / whole); };
  return {relative(wrong.potential, all.potential), relative(wrong.force, all.force)};
}

// Measured errors of the three shapes fall by more than this from one order to the next.
errors allowed_errors(const method& how) {
  const double orders = how.order - 4.0;
  const double times = std::pow(orders < 0.0 ? 10.0 : 2.0, -orders) * std::pow(std::max(1.0, how.theta / 0.4), 4.0);
  return {5e-4 * times, 5e-3 * times};
}

double energy(team& with, const particles& own) {
  std::vector<double> sum(1);
  for (std::size_t i = 0; i < own.size(); ++i) sum[0] += 0.5 * own.bodies[i].charge * own.fields[i].potential;
  with.reduce_all(sum, MPI_SUM);
  return sum[0];
}

}  // namespace tobi_bench::fmm_mpi
