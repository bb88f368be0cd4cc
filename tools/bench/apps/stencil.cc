// SPDX-License-Identifier: Apache-2.0
// Jacobi's method for Laplace's equation: each step replaces each point of a square grid by the mean of its four
// neighbours, and finds by how much the points have changed. Outside of the grid there are zeros.
#include <cmath>
#include <cstddef>
#include <functional>
#include <tobi/algorithm.hpp>
#include <tobi/global_memory.hpp>
#include <utility>
#include <vector>

#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/apps/placed.hpp"
#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

// Set before the run, in every process alike.
std::size_t side;
std::uint64_t steps;
tobi::execution_policy how;
tobi::global_span<double> grids[2];  // each is made from the other one, in turn

// Where point X of a grid's row Y begins: a number between 0 and 1.
double begins_as(std::size_t y, std::size_t x) { return static_cast<double>((y * 31 + x * 17) % 101) / 100; }

// Rows FIRST to FIRST + COUNT of a grid of N rows: TO from FROM. Returns the sum of the squares of all changes.
double step_of_rows(std::size_t first, std::size_t count, std::size_t n, const double* from, double* to) {
  double changed = 0;
  for (std::size_t row = first; row < first + count; ++row, from += n, to += n) {
    for (std::size_t i = 0; i < n; ++i) {
      const double above = row == 0 ? 0 : *(from + i - n), below = row + 1 == n ? 0 : from[i + n];
      const double left = i == 0 ? 0 : from[i - 1], right = i + 1 == n ? 0 : from[i + 1];
      to[i] = (above + below + left + right) / 4;
      changed += (to[i] - from[i]) * (to[i] - from[i]);
    }
  }
  return changed;
}

phase_result fill() {
  tobi::for_each(how, grids[0], tobi::mode::write,
                 [n = side](double& point, std::size_t i) { point = begins_as(i / n, i % n); });
  tobi::fill(how, grids[1], 0.0);
  return {};
}

// Returns how many steps changed the grid less than the one before: all but the first.
phase_result iterate() {
  phase_result calmer;
  double before = 0;
  for (std::uint64_t k = 0; k < steps; ++k) {
    const auto from = grids[k % 2], to = grids[(k + 1) % 2];
    const double changed =
        tobi::reduce_chunks(how, tobi::in(from, side, 1), tobi::out(to, side), 0.0, std::plus<>(),
                            [n = side](std::size_t first, std::size_t rows, const double* old_rows, double* new_rows) {
                              return step_of_rows(first, rows, n, old_rows, new_rows);
                            });
    calmer.number += changed < before ? 1 : 0;
    before = changed;
  }
  return calmer;
}

const memory_phase phases[] = {{"fill", false, fill}, {"steps", true, iterate}};

// The same grid by one process. No sum is made in another order, so each point is the same.
phase_result wrong() {
  std::vector<double> now(side * side), next(side * side);
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = begins_as(i / side, i % side);
  for (std::uint64_t k = 0; k < steps; ++k) {
    step_of_rows(0, side, side, now.data(), next.data());
    std::swap(now, next);
  }
  phase_result found;
  tobi::for_each(tobi::seq, tobi::global_span<const double>(grids[steps % 2]),
                 [&](double point, std::size_t i) { found.number += std::fabs(point - now[i]) > 0 ? 1 : 0; });
  return found;
}

}  // namespace

void stencil_prepare(const stencil_options& asked) {
  side = asked.n;
  steps = asked.steps;
  how.cutoff = asked.cutoff;
  how.where = affinity_of(asked.where);
  for (auto& grid : grids) grid = tobi::allocate_all<double>(side * side, tobi::distribution{asked.chunk});
}

const memory_program stencil_program{phases, wrong};

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
