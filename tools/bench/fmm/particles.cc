// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fmm/particles.hpp"

#include <cmath>
#include <numbers>

namespace tobi_bench {

namespace {

constexpr std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Number WHICH, below 4, of body I: in [0, 1).
double uniform(std::uint64_t seed, std::uint64_t i, std::uint64_t which) {
  return static_cast<double>(mixed(mixed(mixed(seed) ^ i) + which) >> 11) * 0x1p-53;
}

/// At RADIUS from the middle of the cube, in a direction that is uniform on the sphere.
laplace::vec3 on_sphere(double radius, double u, double v) {
  const double z = 2.0 * u - 1.0, angle = 2.0 * std::numbers::pi * v;
  const double across = radius * std::sqrt(1.0 - z * z);
  return {0.5 + across * std::cos(angle), 0.5 + across * std::sin(angle), 0.5 + radius * z};
}

/// The radius in which there is U of the mass that is inside of the cut: the inverse of
/// M(r) = r^3 / (r^2 + a^2)^(3/2) (Aarseth, Henon and Wielen, 1974).
double plummer_radius(double u) {
  constexpr double a = sphere_radius / plummer_cut;
  const double all = std::pow(1.0 + 1.0 / (plummer_cut * plummer_cut), -1.5);
  const double mass = std::cbrt(u * all), square = mass * mass;
  return a * std::sqrt(square / (1.0 - square));
}

}  // namespace

laplace::body make_particle(particle_shape shape, std::uint64_t seed, std::uint64_t i, std::uint64_t n) {
  const double charge = 1.0 / static_cast<double>(n);
  const double u = uniform(seed, i, 0), v = uniform(seed, i, 1), w = uniform(seed, i, 2);
  switch (shape) {
    case particle_shape::sphere:
      return {on_sphere(sphere_radius, u, v), charge};
    case particle_shape::plummer:
      return {on_sphere(plummer_radius(w), u, v), charge};
    case particle_shape::cube:
      break;
  }
  return {{u, v, w}, charge};
}

}  // namespace tobi_bench
