// SPDX-License-Identifier: Apache-2.0
// Integrals over s functions in closed form (Szabo and Ostlund, Modern Quantum Chemistry, appendix A).
#pragma once

#include <cstddef>
#include <vector>

#include "tools/bench/hf/molecule.hpp"

namespace tobi_bench::hf {

/// The Boys function F0(T), T >= 0, by its definition over the error function.
[[nodiscard]] double boys_by_erf(double t);

/// The same to 1e-13 from a table: for many of them.
class boys_table {
 public:
  boys_table();
  [[nodiscard]] double operator()(double t) const {
    if (t >= end) return far(t);
    const auto i = static_cast<std::size_t>(t * steps + 0.5);
    const double* f = &rows_[i * terms];
    const double d = static_cast<double>(i) / steps - t;  // F0(t) is the sum of F_k(t_i) d^k / k!
    return f[0] + d * (f[1] + d * (f[2] + d * (f[3] + d * (f[4] + d * f[5]))));
  }

 private:
  static constexpr double end = 32;  // from here on the asymptote is exact to 1e-16
  static constexpr double steps = 16;
  static constexpr std::size_t terms = 6;
  [[nodiscard]] static double far(double t);
  std::vector<double> rows_;
};

/// The product of two primitives: a Gaussian around AT, with all factors of an integral that are its own.
struct primitive_pair {
  double exponent;
  point at;
  double factor;
};
/// The product of two basis functions, strongest primitives first.
using function_pair = std::vector<primitive_pair>;
[[nodiscard]] function_pair make_pair_of(const basis_function& a, const basis_function& b);

/// The electron repulsion (ab|cd) of the pairs ab and cd.
[[nodiscard]] double repulsion(const function_pair& ab, const function_pair& cd, const boys_table& f0);

/// By rows, of the molecule's functions.
struct one_electron {
  std::vector<double> overlap;
  std::vector<double> core;  // kinetic energy and attraction by the nuclei
};
[[nodiscard]] one_electron one_electron_of(const molecule& m);

}  // namespace tobi_bench::hf
