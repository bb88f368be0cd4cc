// SPDX-License-Identifier: Apache-2.0
// How an octree is built. Tasks find out how the bodies are divided, and leave nodes in the memory of their workers.
// When the number of cells is known, all workers allocate these, and tasks make them of the nodes, which are freed.
#include "tools/bench/fmm/octree.hpp"

#include <functional>
#include <tobi/parallel.hpp>

#include "tools/bench/fmm/morton.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

struct octree_node {
  tobi::global_ptr<octree_node> children;
  std::uint32_t first;  // of its bodies
  std::uint32_t bodies;
  std::uint32_t below;  // how many descendants it has
  std::uint16_t child_count;
  std::uint16_t octant;  // of its parent
};

/// A node's octants with bodies, and where these begin. The last entry is their end.
struct octants {
  std::array<std::uint32_t, 9> first;
  std::array<std::uint16_t, 8> number;
  std::uint32_t count;
};

octants divide(const fmm_method& method, const octree_node& parent, unsigned level) {
  const std::uint32_t end = parent.first + parent.bodies;
  const auto octant_at = [&](std::uint32_t i) {
    return octant_of(morton_key(tobi::load(&method.bodies[i]).at), level);
  };
  octants found;
  found.count = 0;
  std::uint32_t from = parent.first;
  while (from != end) {
    const unsigned octant = octant_at(from);
    found.first[found.count] = from;
    found.number[found.count++] = static_cast<std::uint16_t>(octant);
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

/// NODE, of LEVEL, with its descendants.
octree_node grown(const fmm_method& method, octree_node node, unsigned level) {
  if (node.bodies <= method.leaf_bodies || level == octree_levels) return node;
  const octants parts = divide(method, node, level);
  const auto children = tobi::allocate_global<octree_node>(parts.count);
  node.children = children;
  node.child_count = static_cast<std::uint16_t>(parts.count);
  node.below = tobi::parallel_reduce(
      homes_of(method, node.first, node.bodies), 0u, parts.count, children_per_task(method, node.bodies), 0u,
      [=](std::uint32_t begin, std::uint32_t end) {
        std::array<octree_node, 8> made;
        std::uint32_t cells = 0;
        for (std::uint32_t i = begin; i < end; ++i) {
          const octree_node child{nullptr, parts.first[i], parts.first[i + 1] - parts.first[i], 0, 0, parts.number[i]};
          made[i - begin] = grown(method, child, level + 1);
          cells += 1 + made[i - begin].below;
        }
        const auto open = tobi::checkout(children + begin, end - begin, tobi::mode::write);
        std::copy_n(made.begin(), open.size(), open.begin());
        return cells;
      },
      std::plus<>{});
  return node;
}

octree_cell cell_of(const fmm_method& method, const octree& tree, const octree_node& node, const octree_cell& parent,
                    std::uint32_t number, std::uint32_t children) {
  const double radius = parent.radius / 2;
  return {.center = center_of(node.octant, parent.center, radius),
          .radius = radius,
          .first = node.first,
          .bodies = node.bodies,
          .multipole = tree.multipoles.data() + static_cast<std::ptrdiff_t>(number * method.coefficients()),
          .children = tree.cells.data() + children,
          .child_count = node.child_count,
          .level = parent.level + 1};
}

/// Makes the cells of the descendants of NODE, whose cell is PARENT, from number FIRST on.
void lay_out(const fmm_method& method, const octree& tree, const octree_node& node, const octree_cell& parent,
             std::uint32_t first) {
  if (node.child_count == 0) return;
  std::array<octree_node, 8> nodes;
  std::array<octree_cell, 8> cells;
  std::array<std::uint32_t, 8> below;  // where the descendants of each child begin
  {
    const auto open = tobi::checkout(node.children, node.child_count, tobi::mode::read);
    std::copy(open.begin(), open.end(), nodes.begin());
    std::uint32_t next = first + node.child_count;
    for (std::uint32_t i = 0; i < node.child_count; ++i) {
      below[i] = next;
      next += nodes[i].below;
      cells[i] = cell_of(method, tree, nodes[i], parent, first + i, below[i]);
    }
    const auto into = tobi::checkout(tree.cells.subspan(first, node.child_count), tobi::mode::write);
    std::copy_n(cells.begin(), into.size(), into.begin());
  }
  tobi::free_global(node.children, node.child_count);
  tobi::parallel_for(homes_of(method, node.first, node.bodies), 0u, std::uint32_t{node.child_count},
                     children_per_task(method, node.bodies),
                     [=](std::uint32_t i) { lay_out(method, tree, nodes[i], cells[i], below[i]); });
}

}  // namespace

octree build_octree(const fmm_method& method) {
  const octree_node root = grown(method, {nullptr, 0, static_cast<std::uint32_t>(method.bodies.size()), 0, 0, 0}, 0);
  const std::size_t count = std::size_t{1} + root.below;
  const octree tree{tobi::allocate_all<octree_cell>(count),
                    tobi::allocate_all<laplace::coefficient>(count * method.coefficients())};
  const octree_cell first{.center = {0.5, 0.5, 0.5},
                          .radius = 0.5,
                          .first = 0,
                          .bodies = root.bodies,
                          .multipole = tree.multipoles.data(),
                          .children = tree.cells.data() + 1,
                          .child_count = root.child_count,
                          .level = 0};
  tobi::store(tree.cells.data(), first);
  lay_out(method, tree, root, first, 1);
  tobi::set_read_only(tree.cells);
  return tree;
}

void free_octree(const octree& tree) {
  tobi::free_all(tree.multipoles);
  tobi::free_all(tree.cells);
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
