// SPDX-License-Identifier: Apache-2.0
// The kernels of a fast multipole method for Laplace's equation in three dimensions, over solid harmonics: the
// potential is the sum of q / r. Greengard and Rokhlin's names of them: P is a particle, M a multipole expansion, L a
// local one.
//
// R(n,m) is the regular solid harmonic, S(n,m) the irregular one, both normalised so that theorems of addition have no
// coefficients (Epton and Dembart, 1995), and 1 / |x - y| is the sum of conj(R(n,m)(y)) S(n,m)(x). An expansion has the
// m >= 0 alone: X(n,-m) = (-1)^m conj(X(n,m)).
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <span>

namespace tobi_bench::laplace {

struct vec3 {
  double x, y, z;
};
struct body {
  vec3 at;
  double charge;
};
/// Of a unit charge: the potential is the sum of q_j / r_ij, and the force that of q_j (x_i - x_j) / r_ij^3. Pairs at
/// distance 0, as a body with itself, add nothing.
struct field {
  double potential;
  vec3 force;
};
using coefficient = std::complex<double>;
/// Of an expansion: those of (n, m) = (0, 0), (1, 0), (1, 1), (2, 0) and so on, with n below ORDER.
constexpr std::size_t coefficients(unsigned order) { return std::size_t{order} * (order + 1) / 2; }
inline constexpr unsigned max_order = 12;

// Each adds to what its first pointer or FIELDS hold. ORDER is from 1 to max_order. They allocate nothing, throw
// nothing and write to no shared state. So a task may call them wherever it is.
void p2m(unsigned order, coefficient* multipole, vec3 center, std::span<const body> bodies);
void m2m(unsigned order, coefficient* parent, const coefficient* child, vec3 child_minus_parent);
void m2l(unsigned order, coefficient* local, const coefficient* multipole, vec3 target_minus_source);
void l2l(unsigned order, coefficient* child, const coefficient* parent, vec3 child_minus_parent);
void l2p(unsigned order, const coefficient* local, vec3 center, std::span<const body> bodies, std::span<field> fields);

/// P2P. The targets lie as arrays of coordinates, which are summed together as many at a time as the processor's
/// vectors have room for.
class near_field {
 public:
  static constexpr std::size_t capacity = 64;
  /// At most capacity targets.
  void begin(std::span<const body> targets);
  void add(std::span<const body> sources);
  /// Adds the sums to as many FIELDS as there are targets.
  void end(std::span<field> fields) const;

  /// The arrays, as the loop over them wants them.
  struct arrays {
    alignas(64) std::array<double, capacity> x, y, z, potential, force_x, force_y, force_z;
  };

 private:
  std::size_t targets_ = 0;
  arrays all_;
};

}  // namespace tobi_bench::laplace
