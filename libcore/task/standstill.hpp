// SPDX-License-Identifier: Apache-2.0
// When nothing can ever run again: every worker is idle, nothing is on its way, and the root has not ended. Then some
// task waits for a future that nobody sets, or tasks wait for each other in a circle, and the job ends with a report
// instead of hanging.
//
// Only idle workers take part. One that has found nothing for a while marks itself still, in words of its own; rank 0,
// while it is still, now and then reads everybody's words, and stops at the first worker that is not. A worker that
// runs tasks does nothing for this but count what it steals.
//
// Why it never fires wrongly: Mattern's four counters (Algorithms for distributed termination detection, 1987), with a
// steal in the role of a message. `state` is even while a worker is still and grows by one at each change; `given` is
// how often thieves have taken something from this worker, `received` how often it has taken something itself; `passes`
// how often, while still, it has looked for something to run and found nothing.
//   S1  A still worker has an empty region, no ready context, nothing shown, and all of its operations are complete at
//       their targets: it can neither run nor give away anything, and nothing that it completed is on its way. `given`
//       is therefore exact while it is still. It counts claims, so it counts before the thief knows. A task that a
//       worker has sent to another one counts as given when it lies there, before the sender is still.
//   S2  A thief leaves stillness (`state`) before it counts what it took (`received`), and only then runs it. So does
//       one that finds a task of its own that can go on, and one that takes what was sent to it, as if it had stolen
//       that.
//   S3  All of these words only grow. Three rounds read the same words, each round wholly after the one before. Where
//       the readings of a word are equal it had that value at each moment between them, also when the words of one
//       remote read come from different moments. So from the moment T between the first two rounds to the end of the
//       second all workers were still at once (their states are equal and even), with just these counts.
//   S4  If then the counts of what was given and of what was received add up to the same, no thief has claimed
//       something that it has not counted; one that had claimed something and counted it was not still (S2). So at T
//       nothing ran anywhere, and by S1 only one thing can arise: a record that was completed before T may have a
//       waiting task that its worker has not looked at since. The completer of a record has its waiters with
//       continuation_greedy; under the other schedulers each worker looks at what its tasks wait for, in turn.
//   S5  A pass looks at all of these. When `passes` has grown by two since the second round, the later one began after
//       T, and if the third round finds the same states, nobody has found anything in it (S2).
//   S6  The worker on which the root ends does not become still any more in this run, nor does one that has not
//       entered it: outside of a run `state` is odd. So a root that has ended, and whose end is being told, is no
//       standstill. Workers that run no tasks are always still.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/remote_objects.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::tasks {

/// A worker's words, in its control block, at the same offset everywhere. Only the owner writes, but for `report`.
struct alignas(64) idle_board {
  std::uint64_t state;      // odd: it runs something, or may at once; even: still
  std::uint64_t given;      // written on becoming still
  std::uint64_t received;   // what this worker took from others
  std::uint64_t passes;     // over all that could run here, with nothing found
  std::uint64_t suspended;  // tasks that wait, less those that were let go on here: it may be below 0
  std::uint64_t report;     // rank 0 asks this worker to say what its tasks wait for
  std::uint64_t reported;   // it has
};

/// What the scheduler knows of tasks that wait and are tied to this worker.
class tied_tasks {
 public:
  virtual ~tied_tasks() = default;
  /// The records that those wait for that have no image, a record as often as it has such tasks.
  [[nodiscard]] virtual std::vector<std::uint64_t> tied_tasks_wait_for() const { return {}; }
  /// How many other tasks cannot go on before one of them does, because an exception may be theirs.
  [[nodiscard]] virtual std::size_t held_by_exceptions() const { return 0; }
};

class standstill {
 public:
  /// TIED: null where no tasks run.
  void start(net::fabric& net, idle_board& board, alloc::remote_objects& objects, const tied_tasks* tied);

  /// This worker has something to run, or leaves the run. Before it counts or runs it.
  void moves() noexcept {
    if (still_) leave();
  }
  void took() noexcept;
  void waits() noexcept;
  void goes_on() noexcept;
  /// In an idle loop, after a look at all that could run here: it is idle since SINCE (of arch::now_ns), and GIVEN()
  /// tells how much was taken from it. Ends the job when nothing can run any more.
  template <class Given>
  void idle(std::uint64_t since, std::uint64_t now, Given given) noexcept {
    if (now - since < patience_ns) return;
    if (still_) {
      passed();
    } else {
      enter(given);
    }
    watch(now);
  }

 private:
  static constexpr std::uint64_t patience_ns = 100'000'000;

  // What one round over all workers has read.
  struct reading {
    std::uint64_t sum = 0;          // of all that must be the same in all rounds; each part only grows
    std::uint64_t differences = 0;  // given, and not received
    std::uint64_t suspended = 0;
    std::vector<std::uint64_t> passes;
  };

  template <class Given>
  void enter(Given given) noexcept {
    net_->drain();
    mark(given());
  }
  void leave() noexcept;
  void mark(std::uint64_t given) noexcept;
  void passed() noexcept;
  void watch(std::uint64_t now) noexcept;
  [[nodiscard]] bool round(reading& seen);
  [[nodiscard]] idle_board read(int rank);
  void say_what_waits();
  [[noreturn]] void end(std::uint64_t suspended);

  net::fabric* net_ = nullptr;
  idle_board* board_ = nullptr;
  alloc::remote_objects* objects_ = nullptr;
  const tied_tasks* tied_ = nullptr;
  bool still_ = false;
  // Rank 0's.
  std::uint64_t looked_ = 0;
  int agreed_ = 0;  // rounds in a row that have read the same
  reading seen_;    // by the last of them
};

}  // namespace tobi::tasks
