// SPDX-License-Identifier: Apache-2.0
// The octree of fmm-mpi and its traversal, in one process and without messages: all fields against sums over pairs, and
// trees of which parts are known by their expansions alone, as they come from other processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tools/bench/fmm/morton.hpp"
#include "tools/bench/fmm/mpi/traversal.hpp"
#include "tools/bench/fmm/mpi/tree.hpp"
#include "tools/bench/fmm/particles.hpp"

namespace tobi_bench::fmm_mpi {

namespace {

using laplace::body;
using laplace::field;
using laplace::vec3;

particles particles_of(const std::vector<body>& bodies) {
  particles all;
  all.resize(bodies.size());
  all.bodies = bodies;
  for (std::size_t i = 0; i < bodies.size(); ++i) all.numbers[i] = i;
  return all;
}
std::vector<body> made(particle_shape shape, std::uint64_t n, std::uint64_t seed = 1) {
  std::vector<body> bodies;
  for (std::uint64_t i = 0; i < n; ++i) bodies.push_back(make_particle(shape, seed, i, n));
  return bodies;
}

field direct(const vec3& at, const std::vector<body>& sources) {
  field sum{};
  for (const body& s : sources) {
    const vec3 d{at.x - s.at.x, at.y - s.at.y, at.z - s.at.z};
    const double r = std::sqrt(d.x * d.x + d.y * d.y + d.z * d.z);
    if (r == 0.0) continue;
    const double strength = s.charge / (r * r * r);
    sum.potential += s.charge / r;
    sum.force = {sum.force.x + strength * d.x, sum.force.y + strength * d.y, sum.force.z + strength * d.z};
  }
  return sum;
}
/// The relative error of the potential, in the L2 norm, and that of the force.
void expect_right(const particles& got, const std::vector<body>& sources, double potential, double force) {
  double wrong[2] = {}, all[2] = {};
  for (std::size_t i = 0; i < got.size(); ++i) {
    const field right = direct(got.bodies[i].at, sources), &f = got.fields[i];
    const auto square = [](double x) { return x * x; };
    wrong[0] += square(f.potential - right.potential);
    wrong[1] +=
        square(f.force.x - right.force.x) + square(f.force.y - right.force.y) + square(f.force.z - right.force.z);
    all[0] += square(right.potential);
    all[1] += square(right.force.x) + square(right.force.y) + square(right.force.z);
  }
  EXPECT_LE(std::sqrt(wrong[0]), potential * std::sqrt(all[0]));
  EXPECT_LE(std::sqrt(wrong[1]), force * std::sqrt(all[1]));
}

interactions compute(const method& how, tree& t, particles& all) {
  t.build(all, how.ncrit);
  t.make_multipoles(all, how.order, how.threads);
  const source_tree own = t.as_source(all);
  std::uint64_t calls = 0;
  const interactions a = interact(how, pass::first, t, all, {&own, 1}, [&] { ++calls; });
  const interactions b = interact(how, pass::last, t, all, {}, [] {});
  EXPECT_EQ(calls > 0 || how.threads > 1, all.size() > 0);
  return {a.cells + b.cells, a.bodies + b.bodies};
}

TEST(octree, has_each_body_in_the_cube_of_one_leaf) {
  for (const particle_shape shape : {particle_shape::cube, particle_shape::sphere, particle_shape::plummer}) {
    auto all = particles_of(made(shape, 3000));
    tree t;
    t.build(all, 20);
    ASSERT_TRUE(std::is_sorted(t.keys().begin(), t.keys().end()));
    std::vector<int> leaves_of(all.size());
    for (const cell& c : t.cells()) {
      std::uint32_t below = 0;
      for (std::uint32_t i = 0; i < c.child_count; ++i) {
        const cell& child = t.cells()[c.children + i];
        EXPECT_EQ(child.first, c.first + below);
        EXPECT_EQ(child.radius, c.radius / 2);
        EXPECT_GT(child.bodies, 0u);
        below += child.bodies;
      }
      EXPECT_EQ(c.is_leaf(), c.bodies <= 20);
      EXPECT_EQ(below, c.is_leaf() ? 0 : c.bodies);
      for (std::uint32_t i = c.first; i < c.first + c.bodies; ++i) {
        const vec3& at = all.bodies[i].at;
        for (const double d : {at.x - c.center.x, at.y - c.center.y, at.z - c.center.z})
          EXPECT_LE(std::fabs(d), c.radius);
        leaves_of[i] += c.is_leaf() ? 1 : 0;
      }
    }
    EXPECT_EQ(std::count(leaves_of.begin(), leaves_of.end(), 1), std::ptrdiff_t(all.size()));
  }
}

TEST(traversal, makes_the_fields) {
  for (const particle_shape shape : {particle_shape::cube, particle_shape::sphere, particle_shape::plummer}) {
    const auto bodies = made(shape, 1200);
    for (const int threads : {1, 3}) {
      auto all = particles_of(bodies);
      tree t;
      const interactions done = compute({.order = 5, .theta = 0.5, .ncrit = 20, .threads = threads}, t, all);
      EXPECT_GT(done.cells, 1000u);
      EXPECT_LT(done.bodies, 1200u * 1200u);
      expect_right(all, bodies, 1e-3, 1e-2);
      EXPECT_TRUE(std::all_of(all.work.begin(), all.work.end(), [](double w) { return w > 0.0; }));
    }
  }
}

TEST(traversal, without_expansions_has_all_pairs) {
  const auto bodies = made(particle_shape::plummer, 500);
  auto all = particles_of(bodies);
  tree t;
  const interactions done = compute({.order = 4, .theta = 0.0, .ncrit = 7, .threads = 1}, t, all);
  EXPECT_EQ(done.cells, 0u);
  EXPECT_EQ(done.bodies, 500u * 500u);
  expect_right(all, bodies, 1e-13, 1e-13);
}

TEST(traversal, takes_any_number_of_bodies) {
  for (const std::uint64_t n : {0u, 1u, 2u, 3u, 63u, 64u, 65u, 130u}) {
    const auto bodies = made(particle_shape::cube, n);
    for (const std::uint32_t ncrit : {1u, 200u}) {
      auto all = particles_of(bodies);
      tree t;
      compute({.order = 6, .theta = 0.4, .ncrit = ncrit, .threads = 1}, t, all);
      expect_right(all, bodies, 1e-4, 1e-3);
    }
  }
}

TEST(traversal, bodies_in_one_place_are_a_leaf_of_any_size) {
  std::vector<body> bodies(150, body{{0.3, 0.6, 0.1}, 1.0});
  auto all = particles_of(bodies);
  tree t;
  compute({.order = 4, .theta = 0.2, .ncrit = 4, .threads = 1}, t, all);
  for (const field& f : all.fields) {
    EXPECT_EQ(f.potential, 0.0);
    EXPECT_EQ(std::hypot(f.force.x, f.force.y, f.force.z), 0.0);
  }
  EXPECT_EQ(t.cells().back().level, octree_levels);
  EXPECT_EQ(t.cells().back().bodies, 150u);
  bodies.push_back({{0.9, 0.9, 0.9}, 2.0});
  all = particles_of(bodies);
  compute({.order = 4, .theta = 0.2, .ncrit = 4, .threads = 1}, t, all);
  expect_right(all, bodies, 1e-6, 1e-5);
}

// A source whose bodies are not here, so near to a leaf that the criterion does not take them together.
TEST(traversal, divides_a_leaf_for_a_cell_that_cannot_be_divided) {
  for (const double theta : {0.2, 0.4}) {
    for (const std::uint32_t ncrit : {1u, 40u, 1000u}) {
      std::vector<body> targets = made(particle_shape::cube, 300), sources = made(particle_shape::cube, 40, 2);
      for (body& b : sources) b.at = {b.at.x / 64, b.at.y / 64, b.at.z / 64};
      for (body& b : targets) b.at = {0.25 + b.at.x / 4, 0.25 + b.at.y / 4, 0.25 + b.at.z / 4};
      const unsigned order = 8;
      const cell cut{{1. / 128, 1. / 128, 1. / 128}, 1. / 128, 0, 0, 0, 0, 6};
      std::vector<laplace::coefficient> multipole(laplace::coefficients(order));
      laplace::p2m(order, multipole.data(), cut.center, sources);
      auto all = particles_of(targets);
      tree t;
      const method how{.order = order, .theta = theta, .ncrit = ncrit, .threads = 1};
      t.build(all, how.ncrit);
      t.make_multipoles(all, how.order, how.threads);
      const source_tree other{{&cut, 1}, multipole.data(), nullptr};
      interact(how, pass::last, t, all, {&other, 1}, [] {});
      expect_right(all, sources, 1e-5, 5e-4);
    }
  }
}

}  // namespace

}  // namespace tobi_bench::fmm_mpi
