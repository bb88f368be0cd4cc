// SPDX-License-Identifier: Apache-2.0
// Local essential trees (Warren and Salmon, 1992): each process sends each other process what that one needs of its
// tree. These are multipole expansions down to the cells that are far from all bodies there, and the bodies of leaves
// that are not.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tools/bench/fmm/mpi/team.hpp"
#include "tools/bench/fmm/mpi/traversal.hpp"
#include "tools/bench/fmm/mpi/tree.hpp"

namespace tobi_bench::fmm_mpi {

/// Around the bodies of a process. Without bodies LOW is above HIGH.
struct box {
  laplace::vec3 low, high;

  [[nodiscard]] bool is_empty() const { return low.x > high.x; }
};
box box_of(const particles& all);

/// Of one step.
class essential_trees {
 public:
  /// Collective: sends. OWN is the tree of the bodies of ALL.
  essential_trees(team& with, const method& how, const tree& own, const particles& all);
  ~essential_trees();
  essential_trees(const essential_trees&) = delete;
  essential_trees& operator=(const essential_trees&) = delete;

  /// Receives what has come.
  void progress();
  /// Waits for the rest. They last as long as this object.
  std::span<const source_tree> all_received();
  [[nodiscard]] std::size_t sent_bytes() const { return sent_bytes_; }

 private:
  struct message {
    int from_or_to;
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  team& with_;
  const method& how_;
  std::size_t expected_ = 0, sent_bytes_ = 0;
  std::vector<message> sent_, received_;
  std::vector<source_tree> trees_;
};

}  // namespace tobi_bench::fmm_mpi
