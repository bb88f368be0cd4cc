// SPDX-License-Identifier: Apache-2.0
// Iterations over distributed data: the method of conjugate gradients on a square grid of points, of which each is
// coupled to its four neighbours. Each worker computes on the rows that it owns: the loops begin there, because on()
// says so, and the algorithms do so by themselves. Of its neighbours' rows it fetches two per step.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <tobi/tobi.hpp>

constexpr std::size_t side = 256;
constexpr std::size_t rows = 4;  // of a task

using vector = tobi::global_span<double>;

// out = A in, and returns in * out. A is 4 for a point itself, and -1 for each neighbour.
double multiply(vector in, vector out) {
  return tobi::parallel_reduce(
      tobi::on(out), std::size_t{0}, side / rows, 1, 0.0,
      [=](std::size_t band) {
        const std::size_t begin = band * rows, end = begin + rows;
        const std::size_t above = begin == 0 ? 0 : begin - 1, below = std::min(end + 1, side);
        const auto read = tobi::checkout(in.subspan(above * side, (below - above) * side), tobi::mode::read);
        const auto written = tobi::checkout(out.subspan(begin * side, rows * side), tobi::mode::write);
        double product = 0;
        for (std::size_t row = begin; row < end; ++row) {
          const double* x = read.data() + (row - above) * side;
          double* y = written.data() + (row - begin) * side;
          for (std::size_t i = 0; i < side; ++i) {
            y[i] = 4 * x[i] - (i == 0 ? 0 : x[i - 1]) - (i + 1 == side ? 0 : x[i + 1]) - (row == 0 ? 0 : x[i - side]) -
                   (row + 1 == side ? 0 : x[i + side]);
            product += x[i] * y[i];
          }
        }
        return product;
      },
      std::plus<>());
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const vector x = tobi::allocate_all<double>(side * side), r = tobi::allocate_all<double>(side * side),
               p = tobi::allocate_all<double>(side * side), q = tobi::allocate_all<double>(side * side);
  const int steps = tobi::run([=] {
    const auto square = [](double a, double b) { return a * b; };
    tobi::fill(x, 0.0);
    tobi::fill(r, 1.0);
    tobi::fill(p, 1.0);
    double residual = tobi::transform_reduce(r, r, 0.0, std::plus<>(), square);
    const double enough = 1e-16 * residual;
    int step = 0;
    for (; residual > enough && step < 2000; ++step) {  // the loop is inside of run(): its steps cost microseconds
      const double alpha = residual / multiply(p, q);
      tobi::transform(p, x, x, [=](double of_p, double of_x) { return of_x + alpha * of_p; });
      tobi::transform(q, r, r, [=](double of_q, double of_r) { return of_r - alpha * of_q; });
      const double next = tobi::transform_reduce(r, r, 0.0, std::plus<>(), square);
      tobi::transform(r, p, p, [beta = next / residual](double of_r, double of_p) { return of_r + beta * of_p; });
      residual = next;
    }
    return step;
  });
  if (rt.rank() == 0)
    std::printf("solved in %d steps, %.4f at the centre\n", steps, double(x[side / 2 * side + side / 2]));
}
