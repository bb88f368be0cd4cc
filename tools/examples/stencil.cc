// SPDX-License-Identifier: Apache-2.0
// Checkouts: heat spreads over a square plate, of which each point becomes the mean of its four neighbours. A task
// computes a band of rows, and begins where these rows are: on() says so. It checks out the rows that it reads, one
// more on each side, and the rows that it writes.
#include <cstdio>
#include <tobi/tobi.hpp>
#include <utility>

constexpr std::size_t side = 512;
constexpr std::size_t rows_of_a_task = 16;
constexpr int steps = 200;

using plate = tobi::global_span<double>;

// The left edge is hot and stays so, the other edges are cold.
void fill(plate p) {
  tobi::parallel_for(tobi::on(p), std::size_t{0}, side, rows_of_a_task, [=](std::size_t row) {
    const auto points = tobi::checkout(p.subspan(row * side, side), tobi::mode::write);
    for (std::size_t i = 0; i < side; ++i) points[i] = i == 0 ? 100.0 : 0.0;
  });
}

void step(plate from, plate to) {
  constexpr std::size_t bands = side / rows_of_a_task;
  tobi::parallel_for(tobi::on(to), std::size_t{0}, bands, std::size_t{1}, [=](std::size_t band) {
    const std::size_t begin = band == 0 ? 1 : band * rows_of_a_task;
    const std::size_t end = band + 1 == bands ? side - 1 : (band + 1) * rows_of_a_task;
    // Both checkouts end with this task: it forks and joins nothing.
    const auto now = tobi::checkout(from.subspan((begin - 1) * side, (end - begin + 2) * side), tobi::mode::read);
    const auto next = tobi::checkout(to.subspan(begin * side, (end - begin) * side), tobi::mode::read_write);
    for (std::size_t row = 0; row < end - begin; ++row) {
      const double* at = &now[(row + 1) * side];
      for (std::size_t i = 1; i + 1 < side; ++i) {
        next[row * side + i] = (at[i - 1] + at[i + 1] + at[i - side] + at[i + side]) / 4;
      }
    }
  });
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  // A band of rows in a row of blocks: what a task writes lies mostly in the memory of one worker.
  const plate one = tobi::allocate_all<double>(side * side);
  const plate other = tobi::allocate_all<double>(side * side);
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
