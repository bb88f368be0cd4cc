// SPDX-License-Identifier: Apache-2.0
// A tree in an array: points are ordered as a k-d tree, in which the middle point of a range divides it, by x and by y
// in turn. Each half is a tree of its own, which a task makes. A range too large for one task is divided by all.
// Then the nearest neighbour of each point is looked for.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <tobi/tobi.hpp>
#include <utility>

constexpr std::size_t points = 20'000, most_per_task = 4096;
using point = std::array<double, 2>;
using tree = tobi::global_span<point>;

// A number between 0 and 1 that looks like chance.
double scattered(std::uint64_t i) { return static_cast<double>(i * i * 0x9e3779b97f4a7c15 >> 11) * 0x1p-53; }
// From a point to itself it is longer than any other.
double distance(point p, point q) { return p == q ? 2 : std::hypot(p[0] - q[0], p[1] - q[1]); }

void build(tree all, unsigned axis) {
  if (all.size() < 2) return;
  const std::size_t middle = all.size() / 2;
  const auto less = [=](const point& p, const point& q) { return p[axis] < q[axis]; };
  if (all.size() > most_per_task) {
    tobi::nth_element(all, middle, less);
  } else {
    const auto part = tobi::checkout(all, tobi::mode::read_write);
    std::nth_element(part.begin(), part.begin() + middle, part.end(), less);
  }
  tobi::parallel_invoke([=] { build(all.first(middle), 1 - axis); }, [=] { build(all.subspan(middle + 1), 1 - axis); });
}

// The distance from P to the nearest point of ALL, or SO_FAR, if that is less.
double nearest(tree all, unsigned axis, point p, double so_far) {
  if (all.empty()) return so_far;
  const point middle = all[all.size() / 2];
  const tree left = all.first(all.size() / 2), right = all.subspan(all.size() / 2 + 1);
  const double beyond = p[axis] - middle[axis];
  so_far = nearest(beyond < 0 ? left : right, 1 - axis, p, std::min(so_far, distance(p, middle)));
  return std::abs(beyond) < so_far ? nearest(beyond < 0 ? right : left, 1 - axis, p, so_far) : so_far;
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const tree all = tobi::allocate_all<point>(points);
  const auto found = tobi::allocate_all<double>(points);
  const auto [sum, wrong] = tobi::run([=] {
    tobi::for_each(all, [](point& p, std::size_t i) { p = {scattered(2 * i), scattered(2 * i + 1)}; });
    build(all, 0);
    tobi::transform(all, found, [=](const point& p) { return nearest(all, 0, p, 2); });
    std::size_t closer = 0;
    for (std::size_t i = 0; i < points; i += 1000)
      closer += tobi::count_if(all, [p = all[i].get(), d = found[i].get()](point q) { return distance(p, q) < d; });
    return std::pair(tobi::reduce(found), closer);
  });
  if (rt.rank() == 0) std::printf("%.6f is the mean distance to the nearest of %zu points\n", sum / points, points);
  return wrong == 0 ? 0 : 1;
}
