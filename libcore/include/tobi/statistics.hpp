// SPDX-License-Identifier: Apache-2.0
// What the scheduler did, as in table II of the CLUSTER 2022 paper and more. Forks and joins are counted with
// TOBI_STATS=1, because the fork path has no counter. All else is always counted. Clocks are read at steals and at
// outstanding joins only.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <array>
#include <cstddef>
#include <cstdint>

#include "tobi/detail/standard.hpp"

namespace tobi {

/// What a successful steal spends its time on (figure 10 of the uni-address paper). The default deque claims an entry
/// and copies its frames in one chain. So both are `steal`, and it has no lock.
enum class steal_phase : std::uint8_t { empty_check, lock, steal, stack_transfer, unlock, resume };
/// The number of phases of a steal.
inline constexpr std::size_t steal_phases = 6;

/// Where the time in global memory goes (figure 9 of the SC 2023 paper). The phases are waiting for fetched bytes,
/// other checkouts and checkins, releases, releases that a thief has asked for, acquires, and what tasks do while they
/// hold a checkout, the serial parts of a program. The rest of a worker's time is `others`.
enum class global_phase : std::uint8_t { get, checkout, checkin, release, lazy_release, acquire, serial };
/// The number of phases.
inline constexpr std::size_t global_phases = 7;

/// Counts of the global memory of one worker, or summed over the job. They are always counted, their times with
/// TOBI_STATS=1.
struct global_statistics {
  std::uint64_t checkouts = 0;      // how many were made
  std::uint64_t hits = 0;           // checkouts that found everything here, in one block
  std::uint64_t fetched_bytes = 0;  // from other nodes
  std::uint64_t copied_bytes = 0;   // from the caches of this node's other workers
  std::uint64_t written_bytes = 0;  // to other nodes
  std::uint64_t evictions = 0;      // blocks that lost their place to another one
  std::uint64_t remaps = 0;         // changes of the kernel's mappings
  /// Times by global_phase.
  std::array<std::uint64_t, global_phases> time_ns{};

  /// Returns the share of the checkouts that were hits.
  [[nodiscard]] double hit_rate() const noexcept {
    return checkouts == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(checkouts);
  }
};

/// Counts of one worker, or summed over the job (run_ns, peak_stack_bytes: the largest). Times are in nanoseconds.
struct statistics {
  std::uint64_t forks = 0;              // with TOBI_STATS=1, else 0
  std::uint64_t joins = 0;              // with TOBI_STATS=1, else 0: joins of a fork-join program equal its forks
  std::uint64_t run_ns = 0;             // inside of tobi::run
  std::uint64_t outstanding_joins = 0;  // joins that could not go on: they suspended their task, or buried it
  std::uint64_t outstanding_ns = 0;     // of those: since both sides had come to the join, until the task went on
  std::uint64_t steals_ok = 0;          // successful steals
  std::uint64_t steals_failed = 0;      // attempts that found nothing, or came too late
  std::uint64_t steal_ns = 0;           // over the successful steals, from the first operation to the frame in place
  std::uint64_t steal_round_trips = 0;  // dependent transport round trips of the successful steals
  std::uint64_t copying_ns = 0;         // of them, the round trip that brings the frames
  std::uint64_t stolen_bytes = 0;       // of stack; child stealing: of descriptors
  std::uint64_t contexts_stolen = 0;    // lists of suspended tasks that had become ready, taken from another worker
  std::uint64_t evacuations = 0;        // stacks copied out of the uni-address region
  std::uint64_t evacuated_bytes = 0;    // by them
  std::uint64_t published = 0;          // continuations or children shown to thieves
  std::uint64_t taken_back = 0;         // of these, those that the owner took back
  std::uint64_t peak_stack_bytes = 0;   // of the uni-address region; child stealing: of all stacks of a worker
  std::array<std::uint64_t, steal_phases> steal_cycles{};  // over the successful steals, of the core's counter
  std::uint64_t suspend_cycles = 0;                        // over the joins that suspended their task
  global_statistics global;                                // of the global memory

  /// Returns the mean time of a successful steal.
  [[nodiscard]] double steal_latency_ns() const noexcept { return ratio(steal_ns, steals_ok); }
  /// Returns the mean time in which its frames came.
  [[nodiscard]] double copy_ns() const noexcept { return ratio(copying_ns, steals_ok); }
  /// Returns the mean size of what it took.
  [[nodiscard]] double bytes_per_steal() const noexcept { return ratio(stolen_bytes, steals_ok); }
  /// Returns the mean time of an outstanding join.
  [[nodiscard]] double outstanding_join_ns() const noexcept { return ratio(outstanding_ns, outstanding_joins); }
  /// Returns the mean number of dependent round trips of a successful steal.
  [[nodiscard]] double round_trips_per_steal() const noexcept { return ratio(steal_round_trips, steals_ok); }
  /// Returns the number of stolen tasks per fork, or 0 where forks are not counted.
  [[nodiscard]] double stolen_per_created() const noexcept { return ratio(steals_ok, forks); }

 private:
  static double ratio(std::uint64_t a, std::uint64_t b) noexcept {
    return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
  }
};

}  // namespace tobi
