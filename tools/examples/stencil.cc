// SPDX-License-Identifier: Apache-2.0
// Loops over several arrays: heat spreads over a square plate, of which each point becomes the mean of its four
// neighbours. The body gets pointers to rows that are checked out: of the plate that it reads one more on each side,
// and those of the plate that it writes. Where the plates lie on several nodes, rows are computed where they lie.
#include <cstdio>
#include <tobi/tobi.hpp>
#include <utility>

constexpr std::size_t side = 512;
constexpr int steps = 200;

using plate = tobi::global_span<double>;

// The left edge is hot and stays so, the other edges are cold.
void fill(plate p) {
  tobi::for_chunks(tobi::out(p, side), [](std::size_t, std::size_t rows, double* point) {
    for (std::size_t i = 0; i < rows * side; ++i) point[i] = i % side == 0 ? 100.0 : 0.0;
  });
}

void step(plate from, plate to) {
  tobi::for_chunks(tobi::in(from, side, 1), tobi::inout(to, side),
                   [](std::size_t first, std::size_t rows, const double* now, double* next) {
                     for (std::size_t row = first; row < first + rows; ++row, now += side, next += side) {
                       if (row == 0 || row + 1 == side) continue;
                       const double *above = now - side, *below = now + side;
                       for (std::size_t i = 1; i + 1 < side; ++i) {
                         next[i] = (now[i - 1] + now[i + 1] + above[i] + below[i]) / 4;
                       }
                     }
                   });
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const plate one = tobi::allocate_all<double>(side * side), other = tobi::allocate_all<double>(side * side);
  const double heat = tobi::run([=] {
    fill(one);
    fill(other);
    plate now = one, next = other;
    for (int i = 0; i < steps; ++i) {
      step(now, next);
      std::swap(now, next);
    }
    return tobi::reduce(now) / (side * side);
  });
  if (rt.rank() == 0) std::printf("mean temperature after %d steps: %.6f\n", steps, heat);
}
