// SPDX-License-Identifier: Apache-2.0
// Morton's order of the unit cube: the bits of the three coordinates in turn. Bodies that are sorted by their keys lie
// in a row in memory for each cube of an octree.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tools/bench/fmm/laplace.hpp"

namespace tobi_bench {

/// Levels below the root: a key has as many digits of three bits.
inline constexpr unsigned octree_levels = 21;

/// Moves bit i to bit 3 i, of the low 21 bits.
constexpr std::uint64_t every_third(std::uint64_t bits) noexcept {
  bits = (bits | bits << 32) & 0x001f00000000ffff;
  bits = (bits | bits << 16) & 0x001f0000ff0000ff;
  bits = (bits | bits << 8) & 0x100f00f00f00f00f;
  bits = (bits | bits << 4) & 0x10c30c30c30c30c3;
  return (bits | bits << 2) & 0x1249249249249249;
}

/// Of a place in [0, 1)^3. What is outside counts as the nearest place inside.
inline std::uint64_t morton_key(const laplace::vec3& at) noexcept {
  constexpr double cells = std::uint64_t{1} << octree_levels;
  const auto along = [](double x) {
    return every_third(static_cast<std::uint64_t>(std::clamp(x * cells, 0.0, cells - 1.0)));
  };
  return along(at.x) | along(at.y) << 1 | along(at.z) << 2;
}

/// In which octant of a cube of LEVEL, below octree_levels, the key's place is: bit 0 is the half along x.
constexpr unsigned octant_of(std::uint64_t key, unsigned level) noexcept {
  return static_cast<unsigned>(key >> 3 * (octree_levels - 1 - level)) & 7;
}

/// The center of an octant of a cube whose side is four times QUARTER.
inline laplace::vec3 center_of(unsigned octant, const laplace::vec3& cube, double quarter) noexcept {
  const auto along = [=](double x, unsigned bit) { return (octant >> bit & 1) != 0 ? x + quarter : x - quarter; };
  return {along(cube.x, 0), along(cube.y, 1), along(cube.z, 2)};
}

}  // namespace tobi_bench
