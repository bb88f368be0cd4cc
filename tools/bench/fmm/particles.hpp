// SPDX-License-Identifier: Apache-2.0
// The bodies of N-body programs, each a pure function of its number: every process can make any of them.
#pragma once

#include <cstdint>

#include "tools/bench/fmm/laplace.hpp"

namespace tobi_bench {

/// Uniform in the unit cube; uniform on the surface of a sphere in it; Plummer's model of a cluster of stars.
enum class particle_shape : std::uint8_t { cube, sphere, plummer };

inline constexpr double sphere_radius = 0.499;
/// Plummer's model has bodies at any distance. This one ends at plummer_cut of its own radii, which keep 98.5 % of the
/// bodies, and the cut is at sphere_radius from the middle of the cube.
inline constexpr double plummer_cut = 10.0;

/// Body I of N, inside of [0, 1)^3. The charge is 1 / N.
laplace::body make_particle(particle_shape shape, std::uint64_t seed, std::uint64_t i, std::uint64_t n);

}  // namespace tobi_bench
