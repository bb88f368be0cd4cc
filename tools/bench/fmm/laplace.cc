// SPDX-License-Identifier: Apache-2.0
// P2M and L2P. Four bodies are computed with at once. All arithmetic is real: the product of two std::complex looks for
// infinities.
#include "tools/bench/fmm/laplace.hpp"

#include "tools/bench/fmm/clones.hpp"
#include "tools/bench/fmm/orders.hpp"

namespace tobi_bench::laplace {

namespace {

/// The coordinates of four bodies about CENTER. Those that are not there are at it, without a charge.
struct four_bodies {
  vec4 x{}, y{}, z{}, charge{};

  TOBI_BENCH_INLINE four_bodies(std::span<const body> bodies, std::size_t first, vec3 center) {
    const std::size_t n = bodies.size() - first < lanes ? bodies.size() - first : lanes;
    for (std::size_t i = 0; i < n; ++i) {
      const body& b = bodies[first + i];
      x[i] = b.at.x - center.x;
      y[i] = b.at.y - center.y;
      z[i] = b.at.z - center.z;
      charge[i] = b.charge;
    }
  }
};

/// R(n,m) of four points, times SCALE.
template <unsigned Order>
struct four_regular {
  std::array<vec4, coefficients(Order)> re, im;

  TOBI_BENCH_INLINE four_regular(const four_bodies& at, const vec4& scale) {
    const vec4 square = at.x * at.x + at.y * at.y + at.z * at.z;
    re[0] = scale;
    im[0] = vec4{};
    for (unsigned n = 1; n < Order; ++n) {
      const unsigned from = place(n - 1, n - 1), to = place(n, n);
      const double half = 0.5 / n;
      const vec4 x = at.x * half, y = at.y * half;
      re[to] = x * re[from] - y * im[from];
      im[to] = x * im[from] + y * re[from];
      re[to - 1] = at.z * re[from];
      im[to - 1] = at.z * im[from];
      const vec4 z = at.z * double(2 * n - 1);
      for (unsigned m = 0; m + 1 < n; ++m) {
        const double inverse = inverses<Order, 0, Order>[n * Order + m];
        re[place(n, m)] = (z * re[place(n - 1, m)] - square * re[place(n - 2, m)]) * inverse;
        im[place(n, m)] = (z * im[place(n - 1, m)] - square * im[place(n - 2, m)]) * inverse;
      }
    }
  }
};

TOBI_BENCH_INLINE double sum_of(const vec4& v) { return (v[0] + v[1]) + (v[2] + v[3]); }

template <unsigned Order>
TOBI_BENCH_INLINE void p2m_of(coefficient* multipole, vec3 center, std::span<const body> bodies) {
  constexpr unsigned all = coefficients(Order);
  std::array<vec4, all> re{}, im{};
  for (std::size_t first = 0; first < bodies.size(); first += lanes) {
    const four_bodies four(bodies, first, center);
    const four_regular<Order> r(four, four.charge);
    for (unsigned i = 0; i < all; ++i) {
      re[i] += r.re[i];
      im[i] += r.im[i];
    }
  }
  for (unsigned i = 0; i < all; ++i) multipole[i] += coefficient(sum_of(re[i]), sum_of(im[i]));
}

/// A local expansion and its gradient, which has one degree less, as what R is multiplied by: the potential is the sum
/// of re Re(R) + im Im(R).
template <unsigned Order>
struct gradients {
  struct sum {
    double re, im;
  };
  std::array<std::array<sum, 4>, coefficients(Order)> of{};  // the potential, and its derivatives by x, y and z

  TOBI_BENCH_INLINE explicit gradients(const coefficient* local) {
    for (unsigned n = 0; n < Order; ++n) {
      for (unsigned m = 0; m <= n; ++m) {
        const double times = m == 0 ? 1.0 : 2.0;  // as many as +m and -m
        const coefficient here = local[place(n, m)];
        auto& to = of[place(n, m)];
        to[0] = {times * here.real(), times * here.imag()};
        if (n + 1 == Order) continue;
        const coefficient same = local[place(n + 1, m)], up = local[place(n + 1, m + 1)];
        const coefficient down = m == 0 ? coefficient(-up.real(), up.imag()) : local[place(n + 1, m - 1)];
        const double half = 0.5 * times;
        to[1] = {half * (up.real() - down.real()), half * (up.imag() - down.imag())};
        to[2] = {half * (up.imag() + down.imag()), -half * (up.real() + down.real())};
        to[3] = {times * same.real(), times * same.imag()};
      }
    }
  }
};

template <unsigned Order>
TOBI_BENCH_INLINE void l2p_of(const coefficient* local, vec3 center, std::span<const body> bodies,
                              std::span<field> fields) {
  const gradients<Order> g(local);
  for (std::size_t first = 0; first < bodies.size(); first += lanes) {
    const four_bodies four(bodies, first, center);
    const four_regular<Order> r(four, vec4{1.0, 1.0, 1.0, 1.0});
    std::array<vec4, 4> sums{};
    for (unsigned i = 0; i < coefficients(Order); ++i) {
      const unsigned of = i < coefficients(Order - 1) ? 4 : 1;
      for (unsigned k = 0; k < of; ++k) sums[k] += r.re[i] * g.of[i][k].re + r.im[i] * g.of[i][k].im;
    }
    for (std::size_t i = 0; i < lanes && first + i < bodies.size(); ++i) {
      field& f = fields[first + i];
      f.potential += sums[0][i];
      f.force.x -= sums[1][i];
      f.force.y -= sums[2][i];
      f.force.z -= sums[3][i];
    }
  }
}

}  // namespace

TOBI_BENCH_CLONES void p2m(unsigned order, coefficient* multipole, vec3 center, std::span<const body> bodies) {
  with_order(order, [&](auto p) TOBI_BENCH_INLINED { p2m_of<p>(multipole, center, bodies); });
}
TOBI_BENCH_CLONES void l2p(unsigned order, const coefficient* local, vec3 center, std::span<const body> bodies,
                           std::span<field> fields) {
  with_order(order, [&](auto p) TOBI_BENCH_INLINED { l2p_of<p>(local, center, bodies, fields); });
}

}  // namespace tobi_bench::laplace
