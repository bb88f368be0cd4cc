// SPDX-License-Identifier: Apache-2.0
// The upward pass. On the way down nodes become cells: as they are counted, each has its place in an array, and a
// subtree lies in a row. On the way up cells get their multipole expansions, a leaf from its bodies (P2M), another cell
// from those of its children (M2M).
#include <tobi/parallel.hpp>

#include "tools/bench/fmm/morton.hpp"
#include "tools/bench/fmm/octree.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

using laplace::coefficient;
using laplace::vec3;

/// The cells of siblings, and what their nodes are.
struct made_family {
  std::array<octree_node, 8> nodes;
  std::array<octree_cell, 8> cells;
};

// The children of PARENT have the numbers from FIRST on, and their descendants those behind them.
made_family make_children(const fmm_method& method, const octree& tree, const octree_node& node,
                          const octree_cell& parent, std::uint32_t first) {
  made_family made;
  {
    const auto nodes = tobi::checkout(node.children, node.child_count, tobi::mode::read);
    std::copy(nodes.begin(), nodes.end(), made.nodes.begin());
  }
  tobi::free_global(node.children, node.child_count);
  const double radius = parent.radius / 2;
  std::uint32_t below = first + node.child_count;
  for (std::uint32_t i = 0; i < node.child_count; ++i) {
    const octree_node& child = made.nodes[i];
    made.cells[i] = {.center = center_of(child.octant, parent.center, radius),
                     .radius = radius,
                     .first = child.first,
                     .bodies = child.bodies,
                     .multipole = tree.multipoles.subspan((first + i) * method.coefficients()).data(),
                     .children = tree.cells.data() + below,
                     .child_count = child.child_count,
                     .level = parent.level + 1};
    below += child.below;
  }
  const auto cells = tobi::checkout(tree.cells.subspan(first, node.child_count), tobi::mode::write);
  std::copy_n(made.cells.begin(), cells.size(), cells.begin());
  return made;
}

void add_bodies(const fmm_method& method, const octree_cell& leaf, expansion& sum) {
  read_in_parts(method.bodies.subspan(leaf.first, leaf.bodies), [&](std::span<const laplace::body> bodies) {
    laplace::p2m(method.order, sum.data(), leaf.center, bodies);
  });
}

void add_children(const fmm_method& method, const octree_cell& cell, expansion& sum) {
  for (const octree_cell& child : children_of(cell)) {
    const auto multipole = tobi::checkout(child.multipole, method.coefficients(), tobi::mode::read);
    const vec3 shift{child.center.x - cell.center.x, child.center.y - cell.center.y, child.center.z - cell.center.z};
    laplace::m2m(method.order, sum.data(), multipole.data(), shift);
  }
}

// CELL is that of NODE.
void visit(const fmm_method& method, const octree& tree, const octree_node& node, const octree_cell& cell) {
  if (!cell.is_leaf()) {
    const auto first = static_cast<std::uint32_t>(cell.children - tree.cells.data());
    tobi::parallel_for(homes_of(method, cell.first, cell.bodies), 0u, cell.child_count,
                       children_per_task(method, cell.bodies),
                       [method, tree, made = make_children(method, tree, node, cell, first)](std::uint32_t i) {
                         visit(method, tree, made.nodes[i], made.cells[i]);
                       });
  }
  expansion sum{};
  cell.is_leaf() ? add_bodies(method, cell, sum) : add_children(method, cell, sum);
  const auto own = tobi::checkout(cell.multipole, method.coefficients(), tobi::mode::write);
  std::copy_n(sum.begin(), own.size(), own.begin());
}

}  // namespace

void make_cells(const fmm_method& method, const octree& tree, const octree_node& root) {
  const octree_cell cell{.center = {0.5, 0.5, 0.5},
                         .radius = 0.5,
                         .first = 0,
                         .bodies = root.bodies,
                         .multipole = tree.multipoles.data(),
                         .children = tree.cells.data() + 1,
                         .child_count = root.child_count,
                         .level = 0};
  tobi::store(tree.cells.data(), cell);
  visit(method, tree, root, cell);
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
