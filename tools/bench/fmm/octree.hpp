// SPDX-License-Identifier: Apache-2.0
// The octree over bodies that lie in Morton's order in global memory. Its cells are an array, and their multipole
// expansions another one. The children of a cell lie in a row, and so do
// their multipole expansions: what looks at one of them soon looks at the others, and one checkout brings all. A cell
// has all that a decision about it needs. So copies of cells are decided about without an access.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tobi/checkout.hpp>
#include <tobi/global_memory.hpp>
#include <tobi/placement.hpp>

#include "tools/bench/apps/variant.hpp"
#include "tools/bench/fmm/laplace.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

/// What every task of the method knows: the parameters are those of SC'23 (section 6.4), P, theta, N_crit and n_spawn.
struct fmm_method {
  tobi::global_span<const laplace::body> bodies;  // in Morton's order
  tobi::global_span<laplace::field> fields;       // of each body
  double theta;                                   // 0: no expansion is used
  std::uint32_t leaf_bodies;                      // a cell with more is split
  std::uint32_t task_bodies;                      // a cell with more has a task for each child
  unsigned order;

  [[nodiscard]] std::size_t coefficients() const noexcept { return laplace::coefficients(order); }
};

struct octree_cell {
  laplace::vec3 center;
  double radius;        // half of the side, as ExaFMM has it: a cell's place decides, not that of its bodies
  std::uint32_t first;  // of its bodies
  std::uint32_t bodies;
  tobi::global_ptr<laplace::coefficient> multipole;
  tobi::global_ptr<octree_cell> children;  // those with bodies alone
  std::uint32_t child_count;               // 0: a leaf
  std::uint32_t level;

  [[nodiscard]] bool is_leaf() const noexcept { return child_count == 0; }
};

/// The coefficients of one expansion, of any order.
using expansion = std::array<laplace::coefficient, laplace::coefficients(laplace::max_order)>;

/// Copies of a cell's children.
struct octree_family {
  std::array<octree_cell, 8> cells;
  std::uint32_t count;

  [[nodiscard]] const octree_cell* begin() const noexcept { return cells.data(); }
  [[nodiscard]] const octree_cell* end() const noexcept { return cells.data() + count; }
};
inline octree_family children_of(const octree_cell& parent) {
  octree_family found;
  found.count = parent.child_count;
  const auto open = tobi::checkout(parent.children, found.count, tobi::mode::read);
  std::copy(open.begin(), open.end(), found.cells.begin());
  return found;
}

/// How many children of a cell one task treats.
inline std::uint32_t children_per_task(const fmm_method& method, std::uint32_t bodies) {
  return bodies > method.task_bodies ? 1 : 8;
}

/// Where the tasks for the children of a cell begin: where its BODIES from FIRST on are, as long as these lie with
/// several workers of several nodes.
inline tobi::placement homes_of(const fmm_method& method, std::uint32_t first, std::uint32_t bodies) {
  const auto all = method.bodies.subspan(first, bodies);
  if (bodies > method.task_bodies) {
    const tobi::placement homes = tobi::on(all, tobi::affinity::automatic);
    if (homes.parts() > 1) return homes;
  }
  return tobi::on(all, tobi::affinity::none);
}

/// Calls use(part) for parts of WHAT, in turn, each of a size that can be checked out. USE does not fork.
template <class T, class F>
void read_in_parts(tobi::global_span<T> what, const F& use) {
  const std::size_t most = std::max<std::size_t>(1, tobi::global_calls::chunk_bytes() / sizeof(T));
  for (std::size_t done = 0; done < what.size(); done += most) {
    const std::size_t n = std::min(most, what.size() - done);
    const auto open = tobi::checkout(what.subspan(done, n), tobi::mode::read);
    use(std::span<const T>(open.data(), n));
  }
}

/// A cell before it is known how many there are. Nodes lie where tasks have found them.
struct octree_node {
  tobi::global_ptr<octree_node> children;
  std::uint32_t first;  // of its bodies
  std::uint32_t bodies;
  std::uint32_t below;  // how many descendants it has
  std::uint16_t child_count;
  std::uint16_t octant;  // of its parent
};
/// Returns the root. By tasks.
octree_node grow_octree(const fmm_method& method);

/// The root is the first cell. A cell's descendants lie in a row, in the order of their bodies' places in memory.
struct octree {
  tobi::global_span<octree_cell> cells;
  tobi::global_span<laplace::coefficient> multipoles;
};
/// Has room for ROOT and all that is below it. All processes call it in main, and free_octree(), too.
octree allocate_octree(const fmm_method& method, const octree_node& root);
void free_octree(const octree& tree);

/// P2M and M2M: makes a cell of each node, which is freed, and the multipole expansion of each cell. By tasks.
void make_cells(const fmm_method& method, const octree& tree, const octree_node& root);

/// How much was computed: pairs of cells by expansions (M2L), and pairs of bodies one by one (P2P).
struct interactions {
  std::uint64_t cells = 0;
  std::uint64_t bodies = 0;

  friend interactions operator+(interactions a, interactions b) noexcept {
    return {a.cells + b.cells, a.bodies + b.bodies};
  }
};
/// M2L, P2P, L2L and L2P: makes the field of every body. By tasks.
interactions make_fields(const fmm_method& method, const octree& tree);

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
