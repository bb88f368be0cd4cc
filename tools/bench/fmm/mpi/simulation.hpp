// SPDX-License-Identifier: Apache-2.0
// A run: the bodies, and the time steps.
#pragma once

#include <array>
#include <cstdint>

#include "tools/bench/fmm/mpi/options.hpp"
#include "tools/bench/fmm/mpi/team.hpp"
#include "tools/bench/fmm/mpi/tree.hpp"

namespace tobi_bench::fmm_mpi {

/// What a process does in a step, in turn. What it waits for others in any of these is no part of them.
enum class phase : std::uint8_t { partition, tree, upward, essential, own, others, move };
inline constexpr std::array phase_names{"partition", "tree", "upward", "essential", "own", "others", "move"};

/// Of all steps, and of this process.
struct run_times {
  double seconds = 0;  // from a barrier to a barrier
  std::array<double, phase_names.size()> phases{};
  double waiting = 0;
  interactions computed;
  std::uint64_t sent_bytes = 0;
  double work = 0;  // in the last step, in pairs of bodies
};

class simulation {
 public:
  simulation(team& with, const options& asked) : with_(with), asked_(asked) {}

  /// Collective.
  run_times run();
  /// This process's, with the fields of the last step.
  [[nodiscard]] const particles& bodies() const { return all_; }

 private:
  void make_bodies();
  void step(bool moves, run_times& times);
  void kick();
  void drift();

  team& with_;
  const options& asked_;
  particles all_;
  tree tree_;
};

}  // namespace tobi_bench::fmm_mpi
