// SPDX-License-Identifier: Apache-2.0
// How an octree is divided: tasks find out how the bodies are, and leave nodes in the memory of their workers.
#include "tools/bench/fmm/octree.hpp"

#include <functional>
#include <tobi/parallel.hpp>

#include "tools/bench/fmm/morton.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

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

}  // namespace

octree_node grow_octree(const fmm_method& method) {
  return grown(method, {nullptr, 0, static_cast<std::uint32_t>(method.bodies.size()), 0, 0, 0}, 0);
}

octree allocate_octree(const fmm_method& method, const octree_node& root) {
  const std::size_t count = std::size_t{1} + root.below;
  return {tobi::allocate_all<octree_cell>(count),
          tobi::allocate_all<laplace::coefficient>(count * method.coefficients())};
}

void free_octree(const octree& tree) {
  tobi::free_all(tree.multipoles);
  tobi::free_all(tree.cells);
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
