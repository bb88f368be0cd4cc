// SPDX-License-Identifier: Apache-2.0
// Grids of several sizes: V-cycles of multigrid for Poisson's equation on a square. An index of the loops between two
// grids is a row of the coarse one, which is two rows of the fine one.
#include <array>
#include <cstdio>
#include <tobi/tobi.hpp>

struct grid {
  std::size_t n;                      // cells of a row
  tobi::global_span<double> u, v, f;  // the solution, room for the next one, the right-hand side times a cell's area
};
// f - A u of a cell. Outside of the square u is the negative of what it is in the nearest cell.
double residual(const double* u, const double* f, std::size_t row, std::size_t i, std::size_t n) {
  const double of_row = (i == 0 ? -*u : u[-1]) + (i + 1 == n ? -*u : u[1]);
  return *f - 4 * *u + of_row + (row == 0 ? -*u : *(u - n)) + (row + 1 == n ? -*u : u[n]);
}
// visit(cell, row, i) for the cells of rows FIRST to LAST.
void for_cells(std::size_t first, std::size_t last, std::size_t n, auto visit) {
  for (std::size_t row = first, cell = 0; row < last; ++row)
    for (std::size_t i = 0; i < n; ++i, ++cell) visit(cell, row, i);
}
// Two steps: to v and back.
void smooth(const grid& g) {
  const auto rows = [n = g.n](auto row, auto k, const double* u, const double* f, double* next) {
    for_cells(row, row + k, n, [=](auto c, auto y, auto x) { next[c] = u[c] + residual(u + c, f + c, y, x, n) / 5; });
  };
  tobi::for_chunks(tobi::in(g.u, g.n, 1), tobi::in(g.f, g.n), tobi::out(g.v, g.n), rows);
  tobi::for_chunks(tobi::in(g.v, g.n, 1), tobi::in(g.f, g.n), tobi::out(g.u, g.n), rows);
}
void cycle(const grid* fine) {  // fine[1] has half as many rows, and so on
  const std::size_t n = fine->n;
  for (int i = n > 4 ? 1 : 50; i > 0; --i) smooth(*fine);
  if (n == 4) return;
  const auto restricted = [n](auto row, auto k, const double* u, const double* f, double* sum) {
    for_cells(2 * row, 2 * (row + k), n, [=](auto c, auto y, auto x) {
      double& to = sum[(y / 2 - row) * n / 2 + x / 2];
      to = (y % 2 + x % 2 == 0 ? 0 : to) + residual(u + c, f + c, y, x, n);
    });
  };
  tobi::for_chunks(tobi::in(fine->u, 2 * n, 1), tobi::in(fine->f, 2 * n), tobi::out(fine[1].f, n / 2), restricted);
  tobi::fill(fine[1].u, 0.0);
  cycle(fine + 1);
  tobi::for_chunks(tobi::in(fine[1].u, n / 2), tobi::inout(fine->u, 2 * n), [n](auto, auto k, auto by, auto u) {
    for_cells(0, 2 * k, n, [=](auto c, auto y, auto x) { u[c] += by[y / 2 * n / 2 + x / 2]; });
  });
  smooth(*fine);
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const auto room = [](std::size_t n) { return tobi::allocate_all<double>(n * n); };
  std::array<grid, 7> all;  // 256 x 256 cells down to 4 x 4
  for (std::size_t k = 0, n = 256; k < all.size(); ++k, n /= 2) all[k] = {n, room(n), room(n), room(n)};
  tobi::run([=] {
    tobi::fill(all[0].u, 0.0);
    tobi::fill(all[0].f, 1.0 / (256 * 256));
    for (int i = 0; i < 12; ++i) cycle(all.data());
  });
  if (rt.rank() == 0) std::printf("%.6f at the centre\n", double(all[0].u[128 * 256 + 128]));
}
