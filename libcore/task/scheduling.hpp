// SPDX-License-Identifier: Apache-2.0
// What joins, futures and finishes ask of the scheduler (sched/scheduler.hpp): what its tasks can do, how one of them
// waits, and how a task's end reaches the task that waits for it.
#pragma once

#include <cstdint>
#include <string_view>

#include "libcore/net/location.hpp"
#include "libcore/task/record.hpp"

namespace tobi::tasks {

class scheduling {
 public:
  virtual ~scheduling() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Whether a task may go on in another process: false means that it is tied to its worker once it has begun.
  [[nodiscard]] virtual bool moves_tasks() const noexcept = 0;
  /// Whether a task may go on in another process after a join. An exception may be under way at one: wait() keeps it,
  /// and then the task goes on here.
  [[nodiscard]] virtual bool moves_at_joins() const noexcept { return false; }
  /// Whether a task that waits may lie below others on the same stack, and cannot go on before they have ended.
  [[nodiscard]] virtual bool buries_tasks() const noexcept { return false; }
  /// Whether a task that waits is put aside, so that its worker can do anything else meanwhile.
  [[nodiscard]] virtual bool puts_tasks_aside() const noexcept { return !buries_tasks(); }

  /// Returns when the record at WHERE, which was not done a moment ago, is; COPY is what it says then. Perhaps in
  /// another process.
  virtual void wait(std::uint64_t where, record& copy) = 0;
  /// Makes the record at WHERE done, with what MADE says behind its first two words.
  virtual void conclude(net::location where, record& made) noexcept = 0;
  /// The running task has awakened others and goes on: thieves may take them.
  virtual void show_awakened() noexcept = 0;

  // --- for the one that measures paths -------------------------------------------------------------------
  /// The running task goes on behind a record that says DONE.
  virtual void goes_on_behind(const record& /*done*/) noexcept {}
  /// A strand of FINISH that was counted has ended.
  virtual void strand_ends(std::uint64_t /*finish*/) noexcept {}
  /// The running task goes on behind FINISH, all of whose strands have ended.
  virtual void goes_on_behind_finish(std::uint64_t /*finish*/) noexcept {}
};

}  // namespace tobi::tasks
