// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fmm/mpi/direct.hpp"

#include <algorithm>
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

}  // namespace

fmm_errors measured_errors(team& with, const options& asked, const particles& own) {
  const std::vector<sample> samples = gather_samples(with, asked, own);
  std::vector<double> sums;
  std::vector<laplace::field> found, right;
  for (const sample& one : samples) {
    laplace::field sum{};
    for (const laplace::body& source : own.bodies) add_pair(sum, one.at, source);
    sums.insert(sums.end(), {sum.potential, sum.force.x, sum.force.y, sum.force.z});
    found.push_back(one.got);
  }
  with.reduce_all(sums, MPI_SUM);
  for (std::size_t i = 0; i < sums.size(); i += 4) right.push_back({sums[i], {sums[i + 1], sums[i + 2], sums[i + 3]}});
  return relative_errors(found, right);
}

double energy(team& with, const particles& own) {
  std::vector<double> sum(1);
  for (std::size_t i = 0; i < own.size(); ++i) sum[0] += 0.5 * own.bodies[i].charge * own.fields[i].potential;
  with.reduce_all(sum, MPI_SUM);
  return sum[0];
}

}  // namespace tobi_bench::fmm_mpi
