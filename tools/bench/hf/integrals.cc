// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/hf/integrals.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tobi_bench::hf {

using std::numbers::pi;

namespace {

// F_m(T) = e^-T times the sum of (2T)^i / ((2m+1)(2m+3)...(2m+2i+1)), of which all terms are positive.
double boys_by_series(int m, double t) {
  double term = 1.0 / (2 * m + 1);
  double sum = term;
  for (int i = 1; term > 1e-17 * sum; ++i) {
    term *= 2 * t / (2 * m + 2 * i + 1);
    sum += term;
  }
  return std::exp(-t) * sum;
}

point centre_of(double a, const point& at_a, double b, const point& at_b) {
  const double p = a + b;
  return {(a * at_a.x + b * at_b.x) / p, (a * at_a.y + b * at_b.y) / p, (a * at_a.z + b * at_b.z) / p};
}

}  // namespace

double boys_by_erf(double t) {
  if (t < 1e-6) return 1 - t / 3 + t * t / 10;
  return 0.5 * std::sqrt(pi / t) * std::erf(std::sqrt(t));
}

boys_table::boys_table() {
  const auto rows = static_cast<std::size_t>(end * steps) + 1;
  rows_.resize(rows * terms);
  for (std::size_t i = 0; i < rows; ++i) {
    const double t = static_cast<double>(i) / steps;
    double factorial = 1;
    for (std::size_t k = 0; k < terms; ++k) {
      if (k > 1) factorial *= static_cast<double>(k);
      rows_[i * terms + k] = boys_by_series(static_cast<int>(k), t) / factorial;
    }
  }
}

double boys_table::far(double t) { return 0.5 * std::sqrt(pi / t); }

function_pair make_pair_of(const basis_function& a, const basis_function& b) {
  const double apart = squared_distance(a.centre, b.centre);
  const double own = std::numbers::sqrt2 * std::pow(pi, 1.25);  // its share of 2 pi^2.5
  function_pair pair;
  for (const primitive& i : a.primitives) {
    for (const primitive& j : b.primitives) {
      const double p = i.exponent + j.exponent;
      const double factor = i.weight * j.weight * std::exp(-i.exponent * j.exponent / p * apart) * own / p;
      // What is left out is far below the smallest threshold.
      if (std::fabs(factor) > 1e-18) pair.push_back({p, centre_of(i.exponent, a.centre, j.exponent, b.centre), factor});
    }
  }
  std::sort(pair.begin(), pair.end(),
            [](const primitive_pair& x, const primitive_pair& y) { return std::fabs(x.factor) > std::fabs(y.factor); });
  return pair;
}

double repulsion(const function_pair& ab, const function_pair& cd, const boys_table& f0) {
  double sum = 0;
  for (const primitive_pair& p : ab) {
    double of_p = 0;
    for (const primitive_pair& q : cd) {
      const double both = p.exponent + q.exponent;
      of_p += q.factor / std::sqrt(both) * f0(p.exponent * q.exponent / both * squared_distance(p.at, q.at));
    }
    sum += p.factor * of_p;
  }
  return sum;
}

one_electron one_electron_of(const molecule& m) {
  const std::size_t n = m.functions.size();
  one_electron all{std::vector<double>(n * n, 0.0), std::vector<double>(n * n, 0.0)};
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < n; ++c) {
      const basis_function &f = m.functions[r], &g = m.functions[c];
      const double apart = squared_distance(f.centre, g.centre);
      double overlap = 0, core = 0;
      for (const primitive& a : f.primitives) {
        for (const primitive& b : g.primitives) {
          const double p = a.exponent + b.exponent;
          const double reduced = a.exponent * b.exponent / p;
          const double product = a.weight * b.weight * std::exp(-reduced * apart);
          const double s = product * std::pow(pi / p, 1.5);
          const point at = centre_of(a.exponent, f.centre, b.exponent, g.centre);
          overlap += s;
          core += reduced * (3 - 2 * reduced * apart) * s;
          for (const atom& z : m.atoms) {
            core -= z.charge * 2 * pi / p * product * boys_by_erf(p * squared_distance(at, z.at));
          }
        }
      }
      all.overlap[r * n + c] = overlap;
      all.core[r * n + c] = core;
    }
  }
  return all;
}

}  // namespace tobi_bench::hf
