// SPDX-License-Identifier: Apache-2.0
// What a program over a task collection is to the schemes that execute it: tasks with numbers, executed in iterations
// (HPDC'12, Lifflander, Krishnamoorthy, Kale, section 4).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace tobi_bench {

/// Every worker has one, made alike. The collective functions are called by all workers, outside of tasks.
class collection_program {
 public:
  virtual ~collection_program() = default;

  /// Returns how many tasks there are, from number 0 on. It does not change.
  [[nodiscard]] virtual std::uint64_t tasks() const = 0;
  /// Collective: before the tasks of iteration ITERATION, counted from 0.
  virtual void begin(int iteration) = 0;
  /// Executes one task, on any worker, while others execute others. Returns false for a null task: it had nothing to
  /// do, and will have nothing to do in any other iteration either. It does not fork.
  virtual bool execute(std::uint64_t task) = 0;
  /// Collective: behind the tasks of an iteration. Returns whether another one is of use, alike on all workers.
  virtual bool end(int iteration) = 0;
  /// Collective, with --verify: compares what was computed with a reference. Rank 0 says on standard error what is
  /// wrong, and returns false.
  virtual bool right() = 0;

  /// The size of the problem for people: "be16 tile=6".
  [[nodiscard]] virtual std::string describe() const = 0;
  /// The same for programs, as the field params.
  [[nodiscard]] virtual nlohmann::ordered_json params() const = 0;
  /// What was computed, as the field result. Known on rank 0, behind the last end().
  [[nodiscard]] virtual nlohmann::ordered_json result() const = 0;
};

}  // namespace tobi_bench
