// SPDX-License-Identifier: Apache-2.0
// Child stealing: a fork leaves the child where thieves find it, and the parent runs on. CLUSTER 2022, section IV-B.
//
// The fork path is the continuation stealers', unchanged: its doorbell stays rung, so each fork takes the slow
// path, which makes a descriptor of the child, and then has tobi_fork call a function that does nothing in the child's
// place.
//
// A descriptor is what a thief needs: the function, the closure, and where the result goes. Descriptors lie in the
// uni-address region, one below the other as stack frames would, and the deques take them for frames: they are pushed
// and popped at the low end and stolen at the high end, and a thief's copy arrives at the same address, so that a
// pointer from a descriptor to its own closure stays right. Both deques serve, with their protocols and invariants as
// they are. What is theirs of the fork path's words (bottom, split_sp) is an instance of this scheduler's own.
//
// Invariants:
//   C1  A descriptor is run once: the deque gives each entry to the owner or to one thief.
//   C2  The worker that runs a task copies its header, and run_task() copies the closure, before anything can be pushed
//       over them. A thief's region is empty and quiet when it steals.
//   C3  The record is made before the descriptor can be seen, and lies in the memory of the worker that forked: its
//       parent, tied to that worker, looks at it there.
//
// A task that has begun is tied to its worker: its locals stay where they are, and pointers to them are good in the
// task itself. They are not in its children, which may begin in another process.
#pragma once

#include <array>

#include "libcore/deque/deque.hpp"
#include "libcore/sched/scheduler.hpp"
#include "tobi/detail/fork.hpp"

namespace tobi::sched {

class sched_child : public scheduler {
 public:
  explicit sched_child(services& shared) noexcept;
  [[nodiscard]] bool moves_tasks() const noexcept override { return false; }
  [[nodiscard]] arch::hot_state& deque_state() noexcept override { return deque_state_; }
  void forked(std::uintptr_t sp, std::uint64_t* words) noexcept override;
  void conclude(net::location where, tasks::record& made) noexcept override;

 protected:
  /// A child that has not begun. Its closure follows when it does not travel in `words`.
  struct descriptor {
    arch::saved_frame frame;  // the deque's
    std::uint64_t record;     // where it completes; 0: it says so itself, it is a future's
    std::uint64_t finish;     // the one around the fork
    const detail::task_type* type;
    std::uint64_t words[4];
    std::uint32_t marked;  // it is a future's task, or was forked where one was on the stack (child_rtc.hpp)
    std::uint32_t stolen;  // set by the thief, in its copy
  };
  static_assert(sizeof(descriptor) % 16 == 0, "deque entries count in units of 16 bytes");

  /// What of the running task its forks and its end want to know.
  struct running {
    bool marked = false;  // it, or one below it on its stack
    bool timed = false;   // its end may be waited for: when it was is of interest
  };

  /// What tobi_fork has pushed is nobody's.
  void no_entries() noexcept { tobi_hot.bottom = scratch_.data(); }
  /// On the slow path of a fork, at the WORDS that forked() was given: tobi_fork calls nothing in the child's place.
  static void replace_child(std::uint64_t* words) noexcept;
  /// The newest child of this worker that has not begun.
  bool pop(descriptor& child);
  /// One attempt on another worker; pop() has failed just before.
  bool steal(descriptor& child);
  /// Runs the child as a function call on this stack, and completes it.
  void execute(const descriptor& child);

  running running_;

 private:
  void make_room() noexcept;

  arch::hot_state deque_state_{};
  std::array<std::uintptr_t, 8> scratch_{};  // where tobi_fork pushes entries that nobody reads
  bool emptied_ = false;                     // thieves have taken all that the deque still holds
};

}  // namespace tobi::sched
