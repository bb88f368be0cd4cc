// SPDX-License-Identifier: Apache-2.0
// Iterations over distributed data: the method of conjugate gradients on a square grid of points, of which each is
// coupled to its four neighbours. Each worker computes on the rows that it owns: the loops over several arrays begin
// there by themselves. Of its neighbours' rows a worker fetches two per step.
#include <cstdio>
#include <functional>
#include <tobi/tobi.hpp>

constexpr std::size_t side = 256;

using vector = tobi::global_span<double>;

// out = A in, and returns in * out. A is 4 for a point itself, and -1 for each neighbour.
double multiply(vector in, vector out) {
  const auto rows = [](std::size_t first, std::size_t n, const double* x, double* y) {
    double product = 0;
    for (std::size_t row = first; row < first + n; ++row, x += side, y += side) {
      const double *above = x - side, *below = x + side;
      for (std::size_t i = 0; i < side; ++i) {
        y[i] = 4 * x[i] - (i == 0 ? 0 : x[i - 1]) - (i + 1 == side ? 0 : x[i + 1]) - (row == 0 ? 0 : above[i]) -
               (row + 1 == side ? 0 : below[i]);
        product += x[i] * y[i];
      }
    }
    return product;
  };
  // Rows of SIDE points; of IN one more is read on each side.
  return tobi::reduce_chunks(tobi::in(in, side, 1), tobi::out(out, side), 0.0, std::plus<>(), rows);
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const auto room = [] { return tobi::allocate_all<double>(side * side); };
  const vector x = room(), r = room(), p = room(), q = room();
  const int steps = tobi::run([=] {
    tobi::fill(x, 0.0);
    tobi::fill(r, 1.0);
    tobi::fill(p, 1.0);
    const double begin = tobi::transform_reduce(r, r, 0.0, std::plus<>(), std::multiplies<>());
    int step = 0;  // the loop is inside of run(): its steps cost microseconds
    for (double residual = begin, next = 0; residual > 1e-16 * begin && step < 2000; residual = next, ++step) {
      const double alpha = residual / multiply(p, q);
      // x += alpha p and r -= alpha q, and the new r * r, in one sweep over the four.
      const auto update = [=](auto, auto n, const double* of_p, const double* of_q, double* of_x, double* of_r) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          of_x[i] += alpha * of_p[i];
          of_r[i] -= alpha * of_q[i];
          sum += of_r[i] * of_r[i];
        }
        return sum;
      };
      next = tobi::reduce_chunks(tobi::in(p), tobi::in(q), tobi::inout(x), tobi::inout(r), 0.0, std::plus<>(), update);
      tobi::transform(r, p, p, [beta = next / residual](double a, double b) { return a + beta * b; });
    }
    return step;
  });
  const double centre = x[side / 2 * side + side / 2];
  if (rt.rank() == 0) std::printf("solved in %d steps, %.4f at the centre\n", steps, centre);
}
