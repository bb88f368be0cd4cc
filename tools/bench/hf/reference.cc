// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/hf/reference.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "tools/bench/hf/integrals.hpp"
#include "tools/bench/hf/scf.hpp"

namespace tobi_bench::hf {

namespace {

struct product {
  double p, weight;
  point at;
};

std::vector<product> products_of(const basis_function& f, const basis_function& g) {
  std::vector<product> all;
  for (const primitive& a : f.primitives) {
    for (const primitive& b : g.primitives) {
      const double p = a.exponent + b.exponent;
      const double weight =
          a.weight * b.weight * std::exp(-a.exponent * b.exponent / p * squared_distance(f.centre, g.centre));
      if (std::fabs(weight) < 1e-24) continue;  // no integral of it reaches the last digit of the energy
      const auto middle = [&](double x, double y) { return (a.exponent * x + b.exponent * y) / p; };
      all.push_back({p,
                     weight,
                     {middle(f.centre.x, g.centre.x), middle(f.centre.y, g.centre.y), middle(f.centre.z, g.centre.z)}});
    }
  }
  return all;
}

double integral(const std::vector<product>& ab, const std::vector<product>& cd) {
  double sum = 0;
  for (const product& x : ab) {
    for (const product& y : cd) {
      const double t = x.p * y.p / (x.p + y.p) * squared_distance(x.at, y.at);
      sum += x.weight * y.weight * 2 * std::pow(std::numbers::pi, 2.5) / (x.p * y.p * std::sqrt(x.p + y.p)) *
             boys_by_erf(t);
    }
  }
  return sum;
}

// The place of (ij|kl) among integrals that are equal by symmetry, whatever the order of the four.
std::size_t pair_place(std::size_t i, std::size_t j) { return i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j; }

}  // namespace

double reference_energy(const molecule& m, int steps) {
  const std::size_t n = m.functions.size();
  std::vector<std::vector<product>> pairs;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) pairs.push_back(products_of(m.functions[i], m.functions[j]));
  }
  std::vector<double> integrals;
  for (std::size_t ij = 0; ij < pairs.size(); ++ij) {
    for (std::size_t kl = 0; kl <= ij; ++kl) integrals.push_back(integral(pairs[ij], pairs[kl]));
  }
  const auto at = [&](std::size_t i, std::size_t j, std::size_t k, std::size_t l) {
    return integrals[pair_place(pair_place(i, j), pair_place(k, l))];
  };

  self_consistent_field field(m);
  for (int step = 0; step < steps; ++step) {
    const std::vector<double>& density = field.density();
    std::vector<double> two_electron(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < n; ++k) {
          for (std::size_t l = 0; l < n; ++l) {
            two_electron[i * n + j] += density[k * n + l] * (at(i, j, k, l) - 0.5 * at(i, k, j, l));
          }
        }
      }
    }
    field.step(two_electron);
  }
  return field.energy();
}

}  // namespace tobi_bench::hf
