// SPDX-License-Identifier: Apache-2.0
// The upward pass: the multipole expansion of a leaf from its bodies (P2M), of another cell from those of its children
// (M2M).
#include <tobi/parallel.hpp>

#include "tools/bench/fmm/octree.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

void add_bodies(const fmm_method& method, const octree_cell& leaf, expansion& sum) {
  read_in_parts(method.bodies.subspan(leaf.first, leaf.bodies), [&](std::span<const laplace::body> bodies) {
    laplace::p2m(method.order, sum.data(), leaf.center, bodies);
  });
}

void add_children(const fmm_method& method, const octree_cell& cell, expansion& sum) {
  for (const octree_cell& child : children_of(cell)) {
    const auto multipole = tobi::checkout(child.multipole, method.coefficients(), tobi::mode::read);
    const laplace::vec3 shift{child.center.x - cell.center.x, child.center.y - cell.center.y,
                              child.center.z - cell.center.z};
    laplace::m2m(method.order, sum.data(), multipole.data(), shift);
  }
}

void visit(const fmm_method& method, const octree_cell& cell) {
  if (!cell.is_leaf()) {
    tobi::parallel_for(
        0u, cell.child_count, children_per_task(method, cell.bodies),
        [method, children = cell.children](std::uint32_t i) { visit(method, tobi::load(children + i)); });
  }
  expansion sum{};
  cell.is_leaf() ? add_bodies(method, cell, sum) : add_children(method, cell, sum);
  const auto own = tobi::checkout(cell.multipole, method.coefficients(), tobi::mode::write);
  std::copy(sum.begin(), sum.begin() + static_cast<std::ptrdiff_t>(own.size()), own.begin());
}

}  // namespace

void make_multipoles(const fmm_method& method, const octree& tree) {
  visit(method, tobi::load(tree.cells.data()));
  tobi::set_read_only(tree.multipoles);
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
