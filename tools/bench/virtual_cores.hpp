// SPDX-License-Identifier: Apache-2.0
// The balancers of task collections on cores that do not exist: HPDC'12, section 7.3. What each core of a machine would
// compute is computed here, by the same functions and one after the other. Messages are counted. So the balance that
// results is that of such a machine, and the longest chain of what has to wait for each other is what it would take.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/pool/balance_node.hpp"

namespace tobi_bench {

/// The paper's distribution: TASKS sorted by how long they take are dealt to the cores in turn, and each STRIDE-th core
/// gets FAVOUR of them where the others get one.
struct dealt_tasks {
  std::uint32_t cores = 2400;
  std::uint32_t stride = 4;  // the paper's n
  std::uint32_t favour = 4;  // the paper's m
  std::uint64_t tasks = 213'000;
  double mean_s = 0.541;  // of a task
  double spread = 0;      // of the logarithm of a task's time
  std::uint64_t seed = 1;
};
/// Nanoseconds of each core's tasks.
using core_times = std::vector<std::vector<std::uint64_t>>;
[[nodiscard]] core_times deal(const dealt_tasks& how);

struct balance_rules {
  bool central = false;
  std::uint32_t branching = 3;
  double c = 1.003;
  double d = 1.003;
  unsigned bins_per_doubling = 16;
};
/// What a message costs where it is handled, besides its bytes.
struct virtual_network {
  double message_s = 1e-6;
  double bytes_per_s = 5e9;
  std::uint64_t task_bytes = 64;
};

/// Of all that has to wait for each other, the longest by each measure.
struct longest_path {
  double compute_s = 0;
  double seconds = 0;          // with messages
  std::uint64_t steps = 0;     // as the balancers count them (balance_node.hpp)
  std::uint64_t messages = 0;  // handled one after the other
  std::uint64_t bytes = 0;
};

struct balance_outcome {
  double before = 0;  // the highest load over the mean one
  double after = 0;
  std::uint64_t tasks = 0;  // after it, counted
  std::uint64_t moved = 0;
  std::uint64_t messages = 0;  // of all cores
  std::uint64_t bytes = 0;
  longest_path path;
};

/// Balances REPEAT times and takes of each core's computing the shortest time: what disturbs one core's computing here
/// would else be on the longest path.
[[nodiscard]] balance_outcome balance(const core_times& times, const balance_rules& rules, const virtual_network& net,
                                      int repeat);

}  // namespace tobi_bench
