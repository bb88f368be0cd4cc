// SPDX-License-Identifier: Apache-2.0
// The octree over the bodies of one process, and trees that came from others. All trees divide the same unit cube, so a
// cell of one has the place and the size of a cell of another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/bench/fmm/laplace.hpp"

namespace tobi_bench::fmm_mpi {

struct cell {
  laplace::vec3 center;
  double radius;             // half of the side, as ExaFMM has it
  std::uint32_t first;       // of its bodies
  std::uint32_t bodies;      // 0: they are not here, and neither are children
  std::uint32_t children;    // the first of those with bodies; they lie in a row
  std::uint8_t child_count;  // 0: a leaf
  std::uint8_t level;

  [[nodiscard]] bool is_leaf() const { return child_count == 0; }
  /// Of a tree of another process: what is in it is known by its multipole expansion alone.
  [[nodiscard]] bool is_cut() const { return bodies == 0; }
};

/// What bodies elsewhere are seen as: the root is the first cell, and expansions are in the order of the cells.
struct source_tree {
  std::span<const cell> cells;  // none: no bodies
  const laplace::coefficient* multipoles = nullptr;
  const laplace::body* bodies = nullptr;
};

/// The bodies of this process, in Morton's order. What belongs to a body moves with it.
struct particles {
  std::vector<laplace::body> bodies;
  std::vector<laplace::vec3> velocities;
  std::vector<std::uint64_t> numbers;  // of all bodies of the program
  std::vector<double> work;            // that its field took, in pairs of bodies
  std::vector<laplace::field> fields;

  [[nodiscard]] std::size_t size() const { return bodies.size(); }
  void resize(std::size_t n);
};

class tree {
 public:
  /// Sorts the bodies, and divides cells with more than NCRIT.
  void build(particles& all, std::uint32_t ncrit);
  /// The upward pass.
  void make_multipoles(const particles& all, unsigned order, int threads);

  [[nodiscard]] const std::vector<cell>& cells() const { return cells_; }
  [[nodiscard]] const std::vector<std::uint64_t>& keys() const { return keys_; }
  [[nodiscard]] source_tree as_source(const particles& all) const {
    return {cells_, multipoles_.data(), all.bodies.data()};
  }
  /// The local expansions, in the order of the cells: zero behind make_multipoles().
  [[nodiscard]] std::vector<laplace::coefficient>& locals() { return locals_; }

 private:
  void divide(std::uint32_t parent);

  std::vector<cell> cells_;          // by levels
  std::vector<std::uint64_t> keys_;  // of the bodies, sorted
  std::vector<laplace::coefficient> multipoles_, locals_;
};

}  // namespace tobi_bench::fmm_mpi
