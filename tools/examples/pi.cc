// SPDX-License-Identifier: Apache-2.0
// parallel_reduce: pi as the integral of 4 / (1 + x^2) over [0, 1], by the midpoint rule.
#include <cstdio>
#include <tobi/tobi.hpp>

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  constexpr long steps = 100'000'000;
  const double pi = tobi::run([] {
    const double width = 1.0 / steps;
    const auto strip = [=](long i) {
      const double x = (static_cast<double>(i) + 0.5) * width;
      return 4.0 / (1.0 + x * x);
    };
    return width * tobi::parallel_reduce(0L, steps, 10'000, 0.0, strip, [](double a, double b) { return a + b; });
  });
  if (rt.rank() == 0) std::printf("%.12f\n", pi);
}
