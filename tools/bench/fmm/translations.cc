// SPDX-License-Identifier: Apache-2.0
// M2M, M2L and L2L: from one expansion to another about another center.
#include <cmath>

#include "tools/bench/fmm/clones.hpp"
#include "tools/bench/fmm/orders.hpp"

namespace tobi_bench::laplace {

namespace {

/// m^2, from m = -max_order on.
constexpr auto square_table() {
  std::array<double, 4 * max_order> t{};
  for (int i = 0; i < int(t.size()); ++i) t[std::size_t(i)] = double((i - int{max_order}) * (i - int{max_order}));
  return t;
}
constexpr auto squares = square_table();
/// The four doubles from LANES - 1 - i on have a 1 at i, and zeros.
constexpr std::array<double, 2 * lanes - 1> one_in_zeros{0, 0, 0, 1, 0, 0, 0};

/// The harmonics H(n,m) of a vector, for n below DEGREES, in rows from m = -BEFORE on, where BEFORE and the width are
/// whole vectors. Beyond -n and n there are zeros, so that all rows are read alike. A row is computed from the two
/// before it, four m at a time: the recurrences are the same for m and -m. What begins them, H(n,n) and H(n,-n), is put
/// in by an addition, since a vector that was stored in pieces is slow to load.
template <unsigned Degrees, unsigned Order>
struct harmonics {
  static constexpr int before = lanes * whole_vectors(Order - 1);
  static constexpr int behind = lanes * whole_vectors(lanes * whole_vectors(Order) + Order - 1);
  static constexpr unsigned stride = before + behind;
  std::array<double, std::size_t{Degrees + 1} * stride> re, im;  // and a row for n = -1

  TOBI_BENCH_INLINE static unsigned at(unsigned n, unsigned m) { return (n + 1) * stride + before + m; }

  /// S(n,m) r^2 = (2n-1) z S(n-1,m) - ((n-1)^2 - m^2) S(n-2,m), and S(n,n) r^2 = (2n-1) (x+iy) S(n-1,n-1).
  TOBI_BENCH_INLINE void irregular(vec3 d) {
    const double inverse = 1.0 / (d.x * d.x + d.y * d.y + d.z * d.z);
    const vec3 u{d.x * inverse, d.y * inverse, d.z * inverse};
    double last_re = std::sqrt(inverse), last_im = 0.0;
    begin(last_re);
    for (unsigned n = 1; n < Degrees; ++n) {
      const double odd = 2 * n - 1, square = squares[max_order + n - 1];
      const double x = odd * u.x, y = odd * u.y, z = odd * u.z;
      const double new_re = x * last_re - y * last_im, new_im = x * last_im + y * last_re;
      last_re = new_re;
      last_im = new_im;
      next(n, last_re, last_im,
           [&](int m, vec4& a_re, vec4& a_im, const vec4& b_re, const vec4& b_im) TOBI_BENCH_INLINED {
             vec4 factor;
             load(factor, squares.data() + int{max_order} + m);
             factor = (square - factor) * inverse;
             a_re = z * a_re - factor * b_re;
             a_im = z * a_im - factor * b_im;
           });
    }
  }

  /// (n^2 - m^2) R(n,m) = (2n-1) z R(n-1,m) - r^2 R(n-2,m), and 2n R(n,n) = (x+iy) R(n-1,n-1).
  TOBI_BENCH_INLINE void regular(vec3 d) {
    const double square = d.x * d.x + d.y * d.y + d.z * d.z;
    double last_re = 1.0, last_im = 0.0;
    begin(last_re);
    for (unsigned n = 1; n < Degrees; ++n) {
      const double half = 0.5 / n, x = half * d.x, y = half * d.y, z = (2 * n - 1) * d.z;
      const double new_re = x * last_re - y * last_im, new_im = x * last_im + y * last_re;
      last_re = new_re;
      last_im = new_im;
      next(n, last_re, last_im,
           [&](int m, vec4& a_re, vec4& a_im, const vec4& b_re, const vec4& b_im) TOBI_BENCH_INLINED {
             vec4 factor;
             load(factor, inverses<Degrees, -before, stride>.data() + int(n * stride) + before + m);
             a_re = (z * a_re - square * b_re) * factor;
             a_im = (z * a_im - square * b_im) * factor;
           });
    }
  }

 private:
  TOBI_BENCH_INLINE void begin(double first) {
    const vec4 zero{}, one{first, 0.0, 0.0, 0.0};
    for (unsigned i = 0; i < 2 * stride; i += lanes) {
      store(&re[i], i == at(0, 0) ? one : zero);
      store(&im[i], zero);
    }
  }
  /// Row N. RECURRENCE(m, a, b) makes a vector from m on of those of row N - 1, a, and of row N - 2, b.
  template <class F>
  TOBI_BENCH_INLINE void next(unsigned n, double diagonal_re, double diagonal_im, const F& recurrence) {
    const int last = int(n / lanes * lanes), first = -int(lanes * whole_vectors(n));
    for (int m = -before; m < behind; m += int{lanes}) {
      double *to_re = re.data() + int(at(n, 0)) + m, *to_im = im.data() + int(at(n, 0)) + m;
      vec4 a_re{}, a_im{}, b_re, b_im;
      if (m >= first && m <= last) {
        load(a_re, to_re - stride);
        load(a_im, to_im - stride);
        load(b_re, to_re - 2 * stride);
        load(b_im, to_im - 2 * stride);
        recurrence(m, a_re, a_im, b_re, b_im);
        if (m == last) {
          load(b_re, one_in_zeros.data() + (int{lanes} - 1 - (int(n) - m)));
          a_re += b_re * diagonal_re;
          a_im += b_re * diagonal_im;
        }
        if (m == first) {
          const double sign = n % 2 == 0 ? 1.0 : -1.0;
          load(b_re, one_in_zeros.data() + (int{lanes} - 1 - (-int(n) - m)));
          a_re += b_re * (sign * diagonal_re);
          a_im -= b_re * (sign * diagonal_im);
        }
      }
      store(to_re, a_re);
      store(to_im, a_im);
    }
  }
};

/// The three theorems of addition are one sum, over the coefficients X(n,m) of an expansion, with m from -n to n: of
/// X(n,m) H(d,l-m) (-1)^m, where the degree d is what follows. M2M has the sign of m besides, M2L that of k, L2L that
/// of l.
enum class theorem { m2m, m2l, l2l };
constexpr unsigned degree(theorem t, unsigned n, unsigned k) {
  return t == theorem::m2l ? n + k : t == theorem::m2m ? k - n : n - k;
}

/// Adds X(N,M) H(d,l-M) (-1)^M and X(N,-M) H(d,l+M) (-1)^M to the sums (k, l), for COUNT k from K on and four l from L
/// on.
template <theorem T, bool Odd, unsigned Count, class H>
TOBI_BENCH_INLINE void add_two(std::array<vec4, Count>& re, std::array<vec4, Count>& im, const coefficient& x,
                               const H& h, unsigned n, unsigned m, unsigned k, unsigned l) {
  const double x_re = T == theorem::m2m && Odd ? -x.real() : x.real();
  const double x_im = T == theorem::m2m && Odd ? -x.imag() : x.imag();
#pragma GCC unroll 4
  for (unsigned i = 0; i < Count; ++i) {
    const unsigned at = h.at(degree(T, n, k + i), l);
    vec4 down_re, down_im, up_re, up_im;
    load(down_re, &h.re[at - m]);
    load(down_im, &h.im[at - m]);
    load(up_re, &h.re[at + m]);
    load(up_im, &h.im[at + m]);
    if constexpr (Odd) {
      re[i] += x_re * (up_re - down_re);
      re[i] += x_im * (up_im + down_im);
      im[i] += x_re * (up_im - down_im);
      im[i] -= x_im * (up_re + down_re);
    } else {
      re[i] += x_re * (up_re + down_re);
      re[i] += x_im * (up_im - down_im);
      im[i] += x_re * (up_im + down_im);
      im[i] -= x_im * (up_re - down_re);
    }
  }
}

template <theorem T, unsigned Order, unsigned Count, class H>
TOBI_BENCH_INLINE void add_sums(coefficient* to, const coefficient* from, const H& h, unsigned k, unsigned l) {
  std::array<vec4, Count> re{}, im{};
  const unsigned first = T == theorem::l2l ? k : 0, end = T == theorem::m2m ? k + 1 : Order;
  for (unsigned n = first; n < end; ++n) {
    const double x = from[place(n, 0)].real();
#pragma GCC unroll 4
    for (unsigned i = 0; i < Count; ++i) {
      vec4 h_re, h_im;
      load(h_re, &h.re[h.at(degree(T, n, k + i), l)]);
      load(h_im, &h.im[h.at(degree(T, n, k + i), l)]);
      re[i] += x * h_re;
      im[i] += x * h_im;
    }
  }
  const auto add = [&](unsigned n, unsigned m) TOBI_BENCH_INLINED {
    if (m % 2 == 1) {
      add_two<T, true, Count>(re, im, from[place(n, m)], h, n, m, k, l);
    } else {
      add_two<T, false, Count>(re, im, from[place(n, m)], h, n, m, k, l);
    }
  };
  if constexpr (T == theorem::m2l && Order <= lanes) {
    // Unrolled, which keeps the sums in registers.
    if constexpr (Order > 1) add(1, 1);
    if constexpr (Order > 2) add(2, 1), add(2, 2);
    if constexpr (Order > 3) add(3, 1), add(3, 2), add(3, 3);
  } else {
    for (unsigned m = 1; m < end; ++m) {
      for (unsigned n = m < first ? first : m; n < end; ++n) add(n, m);
    }
  }
#pragma GCC unroll 4
  for (unsigned i = 0; i < Count; ++i) {
    for (unsigned j = 0; j < lanes && l + j <= k + i; ++j) {
      const bool minus = (T == theorem::m2l && (k + i) % 2 == 1) || (T == theorem::l2l && (l + j) % 2 == 1);
      const double sign = minus ? -1.0 : 1.0;
      to[place(k + i, l + j)] += coefficient(sign * re[i][j], sign * im[i][j]);
    }
  }
}

template <unsigned Order>
TOBI_BENCH_INLINE void m2m_of(coefficient* parent, const coefficient* child, vec3 d) {
  harmonics<Order, Order> r;
  r.regular(d);
  for (unsigned k = 0; k < Order; ++k) {
    for (unsigned l = 0; l <= k; l += lanes) add_sums<theorem::m2m, Order, 1>(parent, child, r, k, l);
  }
}
template <unsigned Order>
TOBI_BENCH_INLINE void l2l_of(coefficient* child, const coefficient* parent, vec3 d) {
  harmonics<Order, Order> r;
  r.regular(d);
  for (unsigned k = 0; k < Order; ++k) {
    for (unsigned l = 0; l <= k; l += lanes) add_sums<theorem::l2l, Order, 1>(child, parent, r, k, l);
  }
}
/// Four rows of sums at a time, so that what is read of the multipole is used four times.
template <unsigned Order>
TOBI_BENCH_INLINE void m2l_of(coefficient* local, const coefficient* multipole, vec3 d) {
  harmonics<2 * Order - 1, Order> s;
  s.irregular(d);
  for (unsigned l = 0; l < Order; l += lanes) {
    for (unsigned k = l; k + lanes <= Order; k += lanes)
      add_sums<theorem::m2l, Order, lanes>(local, multipole, s, k, l);
    constexpr unsigned rest = Order % lanes;
    if constexpr (rest != 0) add_sums<theorem::m2l, Order, rest>(local, multipole, s, Order - rest, l);
  }
}

}  // namespace

TOBI_BENCH_CLONES void m2m(unsigned order, coefficient* parent, const coefficient* child, vec3 child_minus_parent) {
  with_order(order, [&](auto p) TOBI_BENCH_INLINED { m2m_of<p>(parent, child, child_minus_parent); });
}
TOBI_BENCH_CLONES void m2l(unsigned order, coefficient* local, const coefficient* multipole, vec3 target_minus_source) {
  with_order(order, [&](auto p) TOBI_BENCH_INLINED { m2l_of<p>(local, multipole, target_minus_source); });
}
TOBI_BENCH_CLONES void l2l(unsigned order, coefficient* child, const coefficient* parent, vec3 child_minus_parent) {
  with_order(order, [&](auto p) TOBI_BENCH_INLINED { l2l_of<p>(child, parent, child_minus_parent); });
}

}  // namespace tobi_bench::laplace
