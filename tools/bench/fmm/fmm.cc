// SPDX-License-Identifier: Apache-2.0
// A fast multipole method for the potential and the force of charged bodies, as SC'23 runs ExaFMM (section 6.4): every
// phase is made of tasks over global memory. With several time steps the bodies move, and each step does all of it
// again.
#include <algorithm>
#include <cstdio>
#include <tobi/algorithm.hpp>
#include <tobi/global_memory.hpp>
#include <tobi/on_all_workers.hpp>
#include <tobi/phase.hpp>
#include <tobi/scatter.hpp>
#include <vector>

#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/fmm/accuracy.hpp"
#include "tools/bench/fmm/morton.hpp"
#include "tools/bench/fmm/octree.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

using laplace::body;
using laplace::field;
using laplace::vec3;

/// What is sorted: the key of a body, and which one it is.
struct numbered_key {
  std::uint64_t key;
  std::uint64_t body;
};

// Set outside of tasks, in every process alike.
fmm_options asked;
fmm_method method;
tobi::global_span<body> moved, bodies;                 // as they were made or have moved; in Morton's order
tobi::global_span<vec3> moved_velocities, velocities;  // empty: there is one step
tobi::global_span<numbered_key> order;
tobi::global_ptr<octree_node> root;  // of the nodes that were grown
octree tree;

phase_result make_bodies() {
  tobi::for_each(moved, tobi::mode::write,
                 [](body& b, std::size_t i) { b = make_particle(asked.shape, asked.seed, i, asked.n); });
  tobi::fill(moved_velocities, vec3{0, 0, 0});
  return {};
}

// TO becomes what FROM has, in the order that was found.
template <class T>
void reorder(tobi::global_span<T> from, tobi::global_span<T> to) {
  tobi::for_chunks(tobi::in(order.first(to.size())), tobi::out(to),
                   [from](std::size_t, std::size_t n, const numbered_key* sorted, T* into) {
                     std::vector<std::size_t> places(n);
                     for (std::size_t i = 0; i < n; ++i) places[i] = sorted[i].body;
                     tobi::load_at(from, places, std::span<T>(into, n));
                   });
}

// What is written in one phase alone is read only in the next ones: a steal or a join makes other things that a worker
// has fetched worth nothing.
void before_tree() {
  if (!tree.cells.empty()) {
    free_octree(tree);
    tobi::set_writable(bodies);
  }
  tobi::set_read_only(moved);
}
phase_result make_tree() {
  tobi::for_chunks(tobi::in(moved), tobi::out(order),
                   [](std::size_t first, std::size_t n, const body* from, numbered_key* to) {
                     for (std::size_t i = 0; i < n; ++i) to[i] = {morton_key(from[i].at), first + i};
                   });
  tobi::sort(order, [](const numbered_key& a, const numbered_key& b) { return a.key < b.key; });
  reorder(moved, bodies);
  reorder(moved_velocities, velocities);
  tobi::store(root, grow_octree(method));
  return {asked.n};
}

void before_upward() {
  tobi::set_writable(moved);
  tobi::set_read_only(bodies);
  tree = allocate_octree(method, tobi::load(root));
}
phase_result upward() {
  make_cells(method, tree, tobi::load(root));
  return {asked.n};
}

void before_interact() {
  tobi::set_read_only(tree.cells);
  tobi::set_read_only(tree.multipoles);
}
phase_result interact() {
  const interactions computed = make_fields(method, tree);
  return {computed.cells, computed.bodies};
}

// Bodies repel each other: those that attract each other come arbitrarily near, where no step is short enough.
constexpr double time_step = 0.01;

void kick(vec3& velocity, const field& f) {
  velocity.x += f.force.x * (time_step / 2);
  velocity.y += f.force.y * (time_step / 2);
  velocity.z += f.force.z * (time_step / 2);
}

// The walls of the cube reflect.
void drift(double& x, double& velocity) {
  x += velocity * time_step;
  if (x >= 0.0 && x < 1.0) return;
  velocity = -velocity;
  x = std::clamp(x < 0.0 ? -x : 2.0 - x, 0.0, std::nextafter(1.0, 0.0));
}

// Leapfrog: half a kick and a drift; then half a kick by the fields at the new place.
void move() {
  tobi::for_chunks(tobi::in(method.fields), tobi::in(bodies), tobi::in(velocities), tobi::out(moved),
                   tobi::out(moved_velocities),
                   [](std::size_t, std::size_t n, const field* f, const body* b, const vec3* v, body* to, vec3* speed) {
                     for (std::size_t i = 0; i < n; ++i) {
                       to[i] = b[i];
                       speed[i] = v[i];
                       kick(speed[i], f[i]);
                       drift(to[i].at.x, speed[i].x);
                       drift(to[i].at.y, speed[i].y);
                       drift(to[i].at.z, speed[i].z);
                     }
                   });
}
void kick_again() {
  tobi::for_chunks(tobi::in(method.fields), tobi::inout(velocities),
                   [](std::size_t, std::size_t n, const field* f, vec3* v) {
                     for (std::size_t i = 0; i < n; ++i) kick(v[i], f[i]);
                   });
}

// In a task.
void by_all_processes(void (*what)()) {
#ifdef TOBI_ELIDE
  what();
#else
  tobi::on_all_workers([=] { what(); });
#endif
}

phase_result steps() {
  phase_result last;
  for (std::uint64_t step = 1; step < asked.steps; ++step) {
    tobi::begin_phase("move");
    move();
    tobi::begin_phase("tree");
    by_all_processes(before_tree);
    make_tree();
    tobi::begin_phase("upward");
    by_all_processes(before_upward);
    upward();
    tobi::begin_phase("interact");
    by_all_processes(before_interact);
    last = interact();
    tobi::begin_phase("move");
    kick_again();
  }
  return last;
}

constexpr memory_phase all_phases[] = {{"bodies", false, make_bodies},
                                       {"tree", true, make_tree, before_tree},
                                       {"upward", true, upward, before_upward},
                                       {"interact", true, interact, before_interact},
                                       {"steps", true, steps}};
constexpr std::span one_step(all_phases, std::size(all_phases) - 1);

/// The errors at bodies that lie evenly in Morton's order, and so in space.
fmm_errors measured_errors() {
  const std::size_t count = std::min(asked.check, asked.n);
  std::vector<vec3> places(count);
  std::vector<field> found(count), right(count);
  for (std::size_t i = 0; i < count; ++i) {
    places[i] = tobi::load(&bodies[i * asked.n / count]).at;
    found[i] = tobi::load(&method.fields[i * asked.n / count]);
  }
  read_in_parts(method.bodies, [&](std::span<const body> sources) {
    for (std::size_t i = 0; i < count; ++i) {
      for (const body& source : sources) add_pair(right[i], places[i], source);
    }
  });
  return relative_errors(found, right);
}

phase_result wrong() {
  const fmm_errors measured = measured_errors(), largest = largest_errors(method.order, method.theta);
  if (measured.potential <= largest.potential && measured.force <= largest.force) return {};
  std::fprintf(stderr, "tobi-bench: fmm: relative errors are %.2g of the potential, and %.2g of the force; %.2g and ",
               measured.potential, measured.force, largest.potential);
  std::fprintf(stderr, "%.2g are the most for this order and theta\n", largest.force);
  return {std::min(asked.check, asked.n)};
}

}  // namespace

memory_program fmm_program{one_step, wrong};

void fmm_prepare(const fmm_options& options) {
  asked = options;
  moved = tobi::allocate_all<body>(asked.n);
  bodies = tobi::allocate_all<body>(asked.n);
  if (asked.steps > 1) {
    moved_velocities = tobi::allocate_all<vec3>(asked.n);
    velocities = tobi::allocate_all<vec3>(asked.n);
  }
  order = tobi::allocate_all<numbered_key>(asked.n);
  root = tobi::allocate_all<octree_node>(1).data();
  method = {.bodies = bodies,
            .fields = tobi::allocate_all<field>(asked.n),
            .theta = asked.theta,
            .leaf_bodies = static_cast<std::uint32_t>(asked.ncrit),
            .task_bodies = static_cast<std::uint32_t>(asked.nspawn),
            .order = static_cast<unsigned>(asked.order)};
  fmm_program.phases = asked.steps == 1 ? one_step : std::span(all_phases);
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
