// What the scheduler did, as in table II of the CLUSTER 2022 paper and more. Counted always (forks and joins only with
// TOBI_STATS=1: the fork path has no counter); clocks are read at steals and at outstanding joins only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tobi {

/// What a successful steal spends its time on (figure 10 of the uni-address paper). The default deque claims an entry
/// and copies its frames in one chain: both are `steal`, and it has no lock.
enum class steal_phase : std::uint8_t { empty_check, lock, steal, stack_transfer, unlock, resume };
inline constexpr std::size_t steal_phases = 6;

/// Of one worker, or summed over the job (run_time, peak_stack_bytes: the largest). Times in nanoseconds.
struct statistics {
  std::uint64_t forks = 0;              // with TOBI_STATS=1, else 0
  std::uint64_t joins = 0;              // with TOBI_STATS=1, else 0: joins of a fork-join program equal its forks
  std::uint64_t run_time = 0;           // inside of tobi::run
  std::uint64_t outstanding_joins = 0;  // joins that could not go on: they suspended their task, or buried it
  std::uint64_t outstanding_time = 0;   // of those: since both sides had come to the join, until the task went on
  std::uint64_t steals_ok = 0;
  std::uint64_t steals_failed = 0;
  std::uint64_t steal_time = 0;         // over the successful steals, from the first operation to the frame in place
  std::uint64_t steal_round_trips = 0;  // dependent transport round trips of the successful steals
  std::uint64_t copy_time = 0;          // of them, the round trip that brings the frames
  std::uint64_t stolen_bytes = 0;       // of stack; child stealing: of descriptors
  std::uint64_t contexts_stolen = 0;    // lists of suspended tasks that had become ready, taken from another worker
  std::uint64_t evacuations = 0;        // stacks copied out of the uni-address region
  std::uint64_t evacuated_bytes = 0;
  std::uint64_t published = 0;         // continuations or children shown to thieves
  std::uint64_t taken_back = 0;        // of these, those that the owner took back
  std::uint64_t peak_stack_bytes = 0;  // of the uni-address region; child stealing: of all stacks of a worker
  std::array<std::uint64_t, steal_phases> steal_cycles{};  // over the successful steals, of the core's counter
  std::uint64_t suspend_cycles = 0;                        // over the joins that suspended their task

  [[nodiscard]] double steal_latency_ns() const noexcept { return ratio(steal_time, steals_ok); }
  [[nodiscard]] double copy_ns() const noexcept { return ratio(copy_time, steals_ok); }
  [[nodiscard]] double bytes_a_steal() const noexcept { return ratio(stolen_bytes, steals_ok); }
  [[nodiscard]] double outstanding_join_ns() const noexcept { return ratio(outstanding_time, outstanding_joins); }
  [[nodiscard]] double round_trips_a_steal() const noexcept { return ratio(steal_round_trips, steals_ok); }
  [[nodiscard]] double stolen_per_created() const noexcept { return ratio(steals_ok, forks); }

 private:
  static double ratio(std::uint64_t a, std::uint64_t b) noexcept {
    return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
  }
};

}  // namespace tobi
