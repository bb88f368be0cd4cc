// SPDX-License-Identifier: Apache-2.0
// The seam between the templates of task collections and the runtime: not for users.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstdint>

#include "tobi/detail/standard.hpp"
#include "tobi/future.hpp"

namespace tobi {

/// How a worker without tasks steals those of others.
enum class steal_by : std::uint8_t {
  automatic,  ///< one_sided where the fabric executes atomics without the victim's processor, else messages
  one_sided,  ///< by an atomic and a get
  messages,   ///< by an active message, which the victim reads between two tasks (HPDC'12, figure 4)
};

/// How a collection works. Alike on all workers.
struct collection_options {
  /// Tasks that lie in registered memory per worker, where thieves find them. What is added beyond them waits in
  /// ordinary memory. Up to 2^20 - 1.
  std::size_t capacity = 8192;
  /// restore() gives each worker the tasks that it has executed; false: the tasks that were added to it.
  bool retains = true;
  /// Workers without tasks steal; false: each executes what it has.
  bool steals = true;
  /// How they steal.
  steal_by by = steal_by::automatic;
};

/// What one worker did in the last process().
struct collection_statistics {
  std::uint64_t executed = 0;          // tasks
  std::uint64_t task_ns = 0;           // in tasks
  std::uint64_t process_ns = 0;        // from the moment at which all had come until the end was known
  std::uint64_t attempted_steals = 0;  // claims, requests, and looks by way of the fabric; glances at mapped memory not
  std::uint64_t steals = 0;            // those that brought tasks
  std::uint64_t stolen = 0;            // tasks
  std::uint64_t waves = 0;             // of the detection of the end
};

/// How rebalance() decides which tasks move (HPDC'12, section 5).
enum class balancer : std::uint8_t {
  central,      // worker 0 knows the load of all and assigns everything: algorithm 1
  hierarchical  // a tree of workers, of which each balances its children: algorithm 2
};

/// How rebalance() balances. Alike on all workers. The defaults are the paper's (section 7.1).
struct balance_options {
  balancer how = balancer::hierarchical;
  /// Children of a node of the tree, 2 to 1024. The centralised balancer has no tree.
  unsigned branching = 3;
  /// A worker gives away its shortest tasks until it has this many times the average load or less. 1 to 100.
  double c = 1.003;
  /// On the way up the tree a worker is assigned tasks up to this many times the average load. 1 to 100.
  double d = 1.003;
  /// How finely times are told apart: bins between a time and twice that time, a power of two up to 256. A message has
  /// an entry for each bin that has tasks. The paper names no number.
  unsigned bins_per_doubling = 16;
};

/// What the last rebalance() did: of all workers together, and alike on all of them. Loads are predicted, from the
/// times that tasks took in the last process().
struct balance_statistics {
  double imbalance_before = 1;    // the highest load over the mean one
  double imbalance_after = 1;     // the same
  std::uint64_t moved = 0;        // tasks that go to another worker
  std::uint64_t moved_bytes = 0;  // of these, as they are sent
  std::uint64_t messages = 0;     // operations on other workers' memory; sums and barriers are not counted
  std::uint64_t ns = 0;           // that it took, on the worker where it took longest
};

namespace detail {

/// What the runtime knows of a type of tasks.
struct collection_type {
  std::size_t task_bytes;
  /// Executes the task at TASK with the function number FUNCTION of the collection FACE.
  void (*execute)(void* face, std::uint32_t function, const void* task);
  void* face;
};

extern "C" {
/// Collective. Returns this worker's part.
void* tobi_collection_make(const collection_type* type, const collection_options* how);
/// Collective.
void tobi_collection_end(void* collection);
void tobi_collection_add(void* collection, std::uint32_t function, const void* task);
/// Collective. Throws task_error.
void tobi_collection_process(void* collection);
void tobi_collection_restore(void* collection);
/// Collective.
void tobi_collection_rebalance(void* collection, const balance_options* how);
void tobi_collection_balanced(const void* collection, balance_statistics* what);
void tobi_collection_clear(void* collection);
void tobi_collection_counted(const void* collection, collection_statistics* counts);
std::uint32_t tobi_collection_number(const void* collection);
#ifndef TOBI_ELIDE
/// In a task: all workers process the collection of that number, or restore it, when they have nothing else to run. May
/// migrate the caller. Throws task_error.
void tobi_collection_in_run(std::uint32_t number, int restores);
#endif
}

}  // namespace detail
}  // namespace tobi
