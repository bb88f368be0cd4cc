// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tools/bench/fmm/clones.hpp"
#include "tools/bench/fmm/laplace.hpp"

namespace tobi_bench::laplace {

namespace {

// What is behind the targets in a vector of four is summed too, and nobody reads it.
constexpr std::size_t together = 4;

TOBI_BENCH_CLONES_OF_8 void sum(near_field::arrays& t, std::size_t targets, const body* sources, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) {
    const body s = sources[j];
    for (std::size_t i = 0; i < targets; ++i) {
      const double x = t.x[i] - s.at.x, y = t.y[i] - s.at.y, z = t.z[i] - s.at.z;
      const double square = x * x + y * y + z * z;
      const double inverse_square = square > 0.0 ? 1.0 / square : 0.0;
      const double potential = s.charge * std::sqrt(inverse_square);
      const double strength = potential * inverse_square;
      t.potential[i] += potential;
      t.force_x[i] += strength * x;
      t.force_y[i] += strength * y;
      t.force_z[i] += strength * z;
    }
  }
}

}  // namespace

void near_field::begin(std::span<const body> targets) {
  targets_ = targets.size();
  const std::size_t padded = (targets_ + together - 1) / together * together;
  for (std::size_t i = 0; i < padded; ++i) {
    const vec3 at = i < targets_ ? targets[i].at : targets[0].at;
    all_.x[i] = at.x;
    all_.y[i] = at.y;
    all_.z[i] = at.z;
    all_.potential[i] = all_.force_x[i] = all_.force_y[i] = all_.force_z[i] = 0.0;
  }
}

void near_field::add(std::span<const body> sources) {
  sum(all_, (targets_ + together - 1) / together * together, sources.data(), sources.size());
}

void near_field::end(std::span<field> fields) const {
  for (std::size_t i = 0; i < targets_; ++i) {
    fields[i].potential += all_.potential[i];
    fields[i].force.x += all_.force_x[i];
    fields[i].force.y += all_.force_y[i];
    fields[i].force.z += all_.force_z[i];
  }
}

}  // namespace tobi_bench::laplace
