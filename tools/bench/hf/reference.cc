// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/hf/reference.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
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

// Two functions whose product is not nothing, in either order.
struct overlapping {
  std::size_t first, second;
  std::vector<product> products;
};

std::vector<overlapping> overlapping_of(const molecule& m) {
  std::vector<overlapping> all;
  for (std::size_t i = 0; i < m.functions.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      std::vector<product> products = products_of(m.functions[i], m.functions[j]);
      if (!products.empty()) all.push_back({i, j, std::move(products)});
    }
  }
  return all;
}

// Adds what the integral (ij|kl), with its indices in this order, gives to the two-electron part.
struct two_electron_part {
  std::size_t n;
  const std::vector<double>& density;
  std::vector<double> rows;

  void add(std::size_t i, std::size_t j, std::size_t k, std::size_t l, double integral) {
    rows[i * n + j] += density[k * n + l] * integral;
    rows[i * n + k] -= 0.5 * density[j * n + l] * integral;
  }
};

}  // namespace

std::size_t reference_integrals(const molecule& m) {
  const std::size_t pairs = overlapping_of(m).size();
  return pairs * (pairs + 1) / 2;
}

double reference_energy(const molecule& m, int steps) {
  const std::vector<overlapping> pairs = overlapping_of(m);
  std::vector<double> integrals;
  integrals.reserve(pairs.size() * (pairs.size() + 1) / 2);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    for (std::size_t q = 0; q <= p; ++q) integrals.push_back(integral(pairs[p].products, pairs[q].products));
  }
  self_consistent_field field(m);
  const std::size_t n = m.functions.size();
  for (int step = 0; step < steps; ++step) {
    two_electron_part sum{n, field.density(), std::vector<double>(n * n, 0.0)};
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      for (std::size_t q = 0; q < pairs.size(); ++q) {
        const double value = integrals[p < q ? q * (q + 1) / 2 + p : p * (p + 1) / 2 + q];
        const auto [i, j] = std::pair(pairs[p].first, pairs[p].second);
        const auto [k, l] = std::pair(pairs[q].first, pairs[q].second);
        sum.add(i, j, k, l, value);
        if (i != j) sum.add(j, i, k, l, value);
        if (k != l) sum.add(i, j, l, k, value);
        if (i != j && k != l) sum.add(j, i, l, k, value);
      }
    }
    field.step(sum.rows);
  }
  return field.energy();
}

}  // namespace tobi_bench::hf
