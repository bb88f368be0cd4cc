// SPDX-License-Identifier: Apache-2.0
// Molecules of s-type contracted Gaussians. All lengths are in bohr, energies in hartree.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tobi_bench {
struct hf_options;
}

namespace tobi_bench::hf {

struct point {
  double x, y, z;
};
inline double squared_distance(const point& a, const point& b) {
  return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z);
}

struct atom {
  double charge;
  point at;
};

/// WEIGHT times exp(-EXPONENT r^2). The weights of a function make it one of norm 1.
struct primitive {
  double exponent, weight;
};
struct basis_function {
  point centre;
  std::vector<primitive> primitives;
};

/// A closed shell.
struct molecule {
  std::vector<atom> atoms;
  std::vector<basis_function> functions;  // those of an atom follow each other
  int electrons = 0;
  std::optional<double> published;  // total energy in this basis; p functions do not change that of these
};

molecule make_molecule(const hf_options& asked);

[[nodiscard]] double nuclear_repulsion(const molecule& m);

}  // namespace tobi_bench::hf
