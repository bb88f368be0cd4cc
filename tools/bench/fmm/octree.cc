// SPDX-License-Identifier: Apache-2.0
// How an octree is built and freed.
#include "tools/bench/fmm/octree.hpp"

#include <tobi/parallel.hpp>

#include "tools/bench/fmm/morton.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

/// A cell's octants with bodies, and where these begin. The last entry is their end.
struct octants {
  std::array<std::uint32_t, 9> first;
  std::array<std::uint8_t, 8> number;
  std::uint32_t count;
};

octants divide(const fmm_method& method, const octree_cell& parent) {
  const std::uint32_t end = parent.first + parent.bodies;
  const auto octant_at = [&](std::uint32_t i) {
    return octant_of(morton_key(tobi::load(&method.bodies[i]).at), parent.level);
  };
  octants found;
  found.count = 0;
  std::uint32_t from = parent.first;
  while (from != end) {
    const unsigned octant = octant_at(from);
    found.first[found.count] = from;
    found.number[found.count++] = static_cast<std::uint8_t>(octant);
    // The first body of a later octant.
    std::uint32_t low = from + 1, high = end;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      octant_at(middle) > octant ? high = middle : low = middle + 1;
    }
    from = low;
  }
  found.first[found.count] = end;
  return found;
}

// CELL has all but its children.
octree_cell with_children(const fmm_method& method, octree_cell cell) {
  if (cell.bodies <= method.leaf_bodies || cell.level == octree_levels) return cell;
  const octants parts = divide(method, cell);
  const auto children = tobi::allocate_global<octree_cell>(parts.count);
  const auto multipoles = tobi::allocate_global<laplace::coefficient>(parts.count * method.coefficients());
  cell.children = children;
  cell.child_count = parts.count;
  tobi::parallel_for(homes_of(method, cell), 0u, parts.count, children_per_task(method, cell.bodies),
                     [=](std::uint32_t begin, std::uint32_t end) {
                       std::array<octree_cell, 8> made;
                       for (std::uint32_t i = begin; i < end; ++i) {
                         const octree_cell child{
                             .center = center_of(parts.number[i], cell.center, cell.radius / 2),
                             .radius = cell.radius / 2,
                             .first = parts.first[i],
                             .bodies = parts.first[i + 1] - parts.first[i],
                             .multipole = multipoles + static_cast<std::ptrdiff_t>(i * method.coefficients()),
                             .children = nullptr,
                             .child_count = 0,
                             .level = cell.level + 1};
                         made[i - begin] = with_children(method, child);
                       }
                       const auto open = tobi::checkout(children + begin, end - begin, tobi::mode::write);
                       std::copy(made.begin(), made.begin() + (end - begin), open.begin());
                     });
  return cell;
}

void free_children(const fmm_method& method, const octree_cell& cell) {
  if (cell.is_leaf()) return;
  const tobi::global_ptr<octree_cell> children = cell.children;
  tobi::parallel_for(0u, cell.child_count, children_per_task(method, cell.bodies),
                     [=](std::uint32_t i) { free_children(method, tobi::load(children + i)); });
  tobi::free_global(tobi::load(children).multipole, cell.child_count * method.coefficients());
  tobi::free_global(children, cell.child_count);
}

}  // namespace

octree_cell build_octree(const fmm_method& method) {
  return with_children(method, {.center = {0.5, 0.5, 0.5},
                                .radius = 0.5,
                                .first = 0,
                                .bodies = static_cast<std::uint32_t>(method.bodies.size()),
                                .multipole = tobi::allocate_global<laplace::coefficient>(method.coefficients()),
                                .children = nullptr,
                                .child_count = 0,
                                .level = 0});
}

void free_octree(const fmm_method& method, const octree_cell& root) {
  free_children(method, root);
  tobi::free_global(root.multipole, method.coefficients());
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
