// SPDX-License-Identifier: Apache-2.0
// What TOBI_TRACE records: one ring of events per worker, in its own memory, written on the scheduler's slow paths
// only. The fork path has no hook. Where nothing is traced each hook is one test of a pointer that is null.
//
// An event is an interval that is over, or a moment (begin == end): nothing has to be paired later, so a ring that has
// lost its oldest events still means what it says. Intervals of one worker nest strictly, because each is closed by the
// code that opened it: run > task or idle > steal, suspend, resume, fetch, write_back, await, update > wait.
//
// An idle worker tries to steal millions of times per second. Attempts that follow each other, on the same victim and
// with the same failure, are one event with a count; every successful steal is its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "arch/clock.hpp"
#include "libcore/trace/steal.hpp"

namespace tobi::trace {

enum class event_kind : std::uint8_t {
  run,
  task,
  idle,
  steal,
  suspend,
  ready,
  resume,
  publish,
  wait,
  fetch,       // bytes of global memory were on their way here
  write_back,  // dirty bytes were on their way home
  await,       // another worker's release
  update,      // numbers were changed at their homes, or stored there, and that was waited for
  phase,       // of the program: tobi::begin_phase
};
inline constexpr std::size_t event_kinds = 14;

/// Times in nanoseconds of this worker's clock. A ready task that was found late has the time since it could go on.
/// Trivial, so that a ring costs memory only where it was written.
struct event {
  std::uint64_t begin;
  std::uint64_t end;
  event_kind kind;
  steal_result result;  // steal
  std::uint16_t unused;
  std::int32_t peer;    // steal: the victim; wait, await: the rank waited for; else -1. Of resume it is where the
                        // stack was kept, of fetch the home of the last bytes
  std::uint64_t value;  // steal: bytes, or ns spent in attempts that failed; suspend, ready, resume: the saved stack's
                        // location, by which the three find each other. Of publish it has the bytes of the
                        // frames, of fetch and write_back the bytes, of update
                        // the numbers
  std::uint32_t count;  // steal: attempts; fetch: pieces; else 1
  std::array<std::uint32_t, steal_phases> phase_ns;  // steal of a continuation; phase: its name, ended by a zero
};
static_assert(sizeof(event) == 64);

/// The longest name of a phase that is kept.
inline constexpr std::size_t longest_phase = sizeof(event::phase_ns) - 1;

/// The newest events that fit; when it is full the oldest go.
class event_ring {
 public:
  /// Room for BYTES of events, one at least.
  explicit event_ring(std::size_t bytes);

  void add(const event& e) noexcept {
    events_[recorded_ % capacity_] = e;
    ++recorded_;
  }
  /// The event added last, or null.
  [[nodiscard]] event* newest() noexcept { return recorded_ == 0 ? nullptr : &events_[(recorded_ - 1) % capacity_]; }
  [[nodiscard]] std::uint64_t size() const noexcept { return recorded_ < capacity_ ? recorded_ : capacity_; }
  [[nodiscard]] std::uint64_t lost() const noexcept { return recorded_ - size(); }
  /// AT 0 is the oldest one that is left.
  [[nodiscard]] const event& at(std::uint64_t index) const noexcept { return events_[(lost() + index) % capacity_]; }

 private:
  std::uint64_t capacity_;
  std::uint64_t recorded_ = 0;
  std::unique_ptr<event[]> events_;
};

/// What was counted since the job began, whatever the ring has lost.
struct event_totals {
  std::array<std::uint64_t, event_kinds> events{};
  std::uint64_t steals_ok = 0;
  std::uint64_t steals_empty = 0;
  std::uint64_t steals_lost_race = 0;
  std::uint64_t contexts_stolen = 0;
  std::uint64_t stolen_bytes = 0;
};

/// Bytes that were fetched for one place in the program, which is an address of its code. The addresses are the same in
/// all workers.
struct call_site {
  std::uint64_t place;  // 0: all places for which there was no row
  std::uint64_t pieces;
  std::uint64_t bytes;
  std::uint64_t waited_ns;
};

class tracer {
 public:
  explicit tracer(std::size_t bytes) : ring_(bytes) { (void)arch::ns_per_cycle(); }  // it may measure: not in a run

  [[nodiscard]] static std::uint64_t now() noexcept { return arch::now_ns(); }

  void run_begins() noexcept;
  void run_ends() noexcept;
  void task_begins() noexcept;
  void task_ends() noexcept;
  void steal_begins(std::uint64_t begin) noexcept;
  /// GOT is what the deque has brought home, with the time of each phase.
  void steal_ends(int victim, steal_result result, std::uint64_t end, const stolen& got) noexcept;
  /// A look at the whole node of RANK found nothing, and counts as an empty victim; -1: there was no look.
  void looked(int rank, std::uint64_t end) noexcept;
  /// A join became outstanding: the stack is kept at SAVED since BEGIN..now.
  void suspended(std::uint64_t saved, std::uint64_t begin) noexcept;
  /// The task whose stack is at SAVED can go on.
  void ready(std::uint64_t saved) noexcept;
  /// It could since RESUMABLE, which was found out just now: of a task whose worker looks at what it waits for.
  void ready_since(std::uint64_t saved, std::uint64_t resumable) noexcept;
  /// It is in place again. KEPT_BY is the worker whose memory held it.
  void resumed(std::uint64_t saved, int kept_by, std::uint64_t begin) noexcept;
  void published(std::uint64_t bytes) noexcept;
  /// The fabric made this worker wait for PEER. Part of a steal it is a phase there.
  void waited(int peer, std::uint64_t begin) noexcept;
  /// PIECES of together BYTES have come, the last ones from HOME, for which a task waited since BEGIN.
  void fetched(int home, std::uint64_t bytes, std::uint64_t pieces, std::uint64_t begin) noexcept;
  void wrote_back(std::uint64_t bytes, std::uint64_t begin) noexcept;
  /// PEER has released what this worker is about to read.
  void awaited(int peer, std::uint64_t begin) noexcept;
  /// NUMBERS of others were changed, which took until now.
  void updated(std::uint64_t numbers, std::uint64_t begin) noexcept;
  /// The program begins a phase, in a run or before one.
  void phase_begins(std::string_view name) noexcept;

  [[nodiscard]] const event_ring& ring() const noexcept { return ring_; }
  [[nodiscard]] const event_totals& totals() const noexcept { return totals_; }

 private:
  void add(event_kind kind, std::uint64_t begin, std::uint64_t end, int peer = -1, std::uint64_t value = 0) noexcept;

  event_ring ring_;
  event_totals totals_;
  bool running_ = false;
  bool stealing_ = false;
  std::uint64_t run_begin_ = 0;
  std::uint64_t state_begin_ = 0;  // of the task or the idle time that goes on now
  std::uint64_t steal_begin_ = 0;
};

/// Of this process, or null: nothing is traced. A task that has moved finds its new worker's here, so no hook may keep
/// it across a point where the task can leave.
inline tracer* tracing = nullptr;

}  // namespace tobi::trace
