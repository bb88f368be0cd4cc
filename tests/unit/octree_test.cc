// SPDX-License-Identifier: Apache-2.0
// The octree of tobi-bench fmm, and the passes over it, without the runtime.
#define TOBI_ELIDE
#include "tools/bench/fmm/octree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tools/bench/fmm/morton.hpp"
#include "tools/bench/fmm/particles.hpp"

namespace {

using namespace tobi_bench;
using laplace::body;
using laplace::field;
using laplace::vec3;

/// Bodies with a tree over them.
class grown {
 public:
  grown(std::vector<body> bodies, std::uint32_t leaf_bodies, unsigned order, double theta)
      : bodies_(std::move(bodies)), fields_(bodies_.size()) {
    const auto by_key = [](const body& a, const body& b) { return morton_key(a.at) < morton_key(b.at); };
    std::stable_sort(bodies_.begin(), bodies_.end(), by_key);
    method = {.bodies = {tobi::global_ptr<const body>(bodies_.data()), bodies_.size()},
              .fields = {tobi::global_ptr<field>(fields_.data()), fields_.size()},
              .theta = theta,
              .leaf_bodies = leaf_bodies,
              .task_bodies = 100,
              .order = order};
    const elided::octree_node node = elided::grow_octree(method);
    tree = elided::allocate_octree(method, node);
    elided::make_cells(method, tree, node);
    root = *tree.cells.data().raw();
  }
  grown(const grown&) = delete;
  grown& operator=(const grown&) = delete;
  ~grown() { elided::free_octree(tree); }

  [[nodiscard]] const std::vector<body>& bodies() const { return bodies_; }
  const std::vector<field>& fields() {
    elided::make_fields(method, tree);
    return fields_;
  }
  /// Calls use(cell) for each.
  template <class F>
  void for_each_cell(const F& use) const {
    visit(root, use);
  }

  elided::fmm_method method;
  elided::octree tree;
  elided::octree_cell root;

 private:
  template <class F>
  static void visit(const elided::octree_cell& cell, const F& use) {
    use(cell);
    for (const auto& child : elided::children_of(cell)) visit(child, use);
  }

  std::vector<body> bodies_;
  std::vector<field> fields_;
};

std::vector<body> some_bodies(particle_shape shape, std::uint64_t n) {
  std::vector<body> made;
  for (std::uint64_t i = 0; i < n; ++i) made.push_back(make_particle(shape, 1, i, n));
  return made;
}

double distance(const vec3& a, const vec3& b) { return std::hypot(a.x - b.x, a.y - b.y, a.z - b.z); }

TEST(octree, children_have_what_their_parent_has) {
  for (const particle_shape shape : {particle_shape::cube, particle_shape::sphere, particle_shape::plummer}) {
    const grown tree(some_bodies(shape, 3001), 16, 1, 0.3);
    std::uint32_t in_leaves = 0;
    std::size_t cells = 0;
    tree.for_each_cell([&](const elided::octree_cell& cell) {
      EXPECT_GT(cell.bodies, 0u);
      ++cells;
      if (cell.is_leaf()) {
        EXPECT_LE(cell.bodies, 16u);
        EXPECT_EQ(cell.first, in_leaves);  // so each body is in exactly one
        in_leaves += cell.bodies;
        return;
      }
      EXPECT_GT(cell.bodies, 16u);
      std::uint32_t next = cell.first;
      for (const auto& child : elided::children_of(cell)) {
        EXPECT_EQ(child.first, next);
        EXPECT_EQ(child.level, cell.level + 1);
        next += child.bodies;
      }
      EXPECT_EQ(next, cell.first + cell.bodies);
    });
    EXPECT_EQ(in_leaves, 3001u);
    EXPECT_EQ(cells, tree.tree.cells.size());
  }
}

TEST(octree, a_cell_is_where_its_bodies_are) {
  const grown tree(some_bodies(particle_shape::plummer, 3001), 16, 1, 0.3);
  tree.for_each_cell([&](const elided::octree_cell& cell) {
    EXPECT_EQ(cell.radius, std::ldexp(0.5, -static_cast<int>(cell.level)));
    for (std::uint32_t i = cell.first; i < cell.first + cell.bodies; ++i) {
      const vec3& at = tree.bodies()[i].at;
      EXPECT_LE(std::abs(at.x - cell.center.x), cell.radius);
      EXPECT_LE(std::abs(at.y - cell.center.y), cell.radius);
      EXPECT_LE(std::abs(at.z - cell.center.z), cell.radius);
    }
  });
}

TEST(octree, bodies_at_one_place_end_in_one_leaf) {
  grown tree(std::vector<body>(100, {{0.3, 0.6, 0.9}, 0.01}), 16, 4, 0.3);
  unsigned cells = 0;
  tree.for_each_cell([&](const elided::octree_cell& cell) {
    EXPECT_EQ(cell.bodies, 100u);
    EXPECT_EQ(cell.is_leaf(), cell.level == octree_levels);
    ++cells;
  });
  EXPECT_EQ(cells, octree_levels + 1);
  for (const field& f : tree.fields()) EXPECT_EQ(f.potential, 0.0);
}

TEST(octree, the_root_has_all_charge) {
  const grown tree(some_bodies(particle_shape::cube, 3001), 16, 4, 0.3);
  EXPECT_NEAR(tree.root.multipole.raw()->real(), 1.0, 1e-12);
}

TEST(octree, fields_are_those_of_all_bodies) {
  for (const std::uint32_t leaf_bodies : {5u, 100u, 1000u}) {
    grown tree(some_bodies(particle_shape::plummer, 700), leaf_bodies, 10, 0.3);
    const std::vector<field>& found = tree.fields();
    for (std::size_t i = 0; i < tree.bodies().size(); ++i) {
      double potential = 0;
      for (const body& b : tree.bodies()) {
        const double r = distance(b.at, tree.bodies()[i].at);
        potential += r == 0 ? 0 : b.charge / r;
      }
      EXPECT_NEAR(found[i].potential, potential, 1e-5 * potential);
    }
  }
}

TEST(morton, keys_are_in_the_order_of_octants) {
  EXPECT_EQ(morton_key({0, 0, 0}), 0u);
  EXPECT_EQ(morton_key({1, 1, 1}), (std::uint64_t{1} << 63) - 1);
  const std::uint64_t key = morton_key({0.75, 0.25, 0.5});
  EXPECT_EQ(octant_of(key, 0), 5u);
  EXPECT_EQ(octant_of(key, 1), 3u);
  EXPECT_EQ(octant_of(key, 2), 0u);
  const vec3 center = center_of(5, {0.5, 0.5, 0.5}, 0.25);
  EXPECT_EQ(center.x, 0.75);
  EXPECT_EQ(center.y, 0.25);
  EXPECT_EQ(center.z, 0.75);
}

}  // namespace
