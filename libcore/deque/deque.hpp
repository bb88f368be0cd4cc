// SPDX-License-Identifier: Apache-2.0
// What the scheduler asks of a deque, on its slow paths only. The fast path of fork and return is the assembly's and is
// the same for all: a protocol that must see every fork keeps its own doorbell rung, and one that must see every
// return leaves split_sp at 0.
//
// The owner's part is an array of stack pointers, slots[0] being where the frames of the running stack begin: entry i's
// frames are [slots[i], slots[i-1]), because a child starts where its parent was saved. Entries are pushed and popped
// at `bottom`; thieves take from the other end, oldest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "arch/context.hpp"
#include "libcore/deque/window.hpp"
#include "libcore/trace/steal.hpp"

namespace tobi::deque {

/// What a glance at a worker's mapped memory tells, the best for a thief of another node first:
///   far_work   something for other nodes, which neighbours take where nobody else comes, or by the fabric alone
///   work       something that neighbours take by the CPU, others by the fabric
///   near_work  something for neighbours alone, which its owner can show to others
///   busy       it runs a task, and may have more than it shows
///   leaf       it runs one, and has nothing to give
///   nothing    it runs none
enum class sight : std::uint8_t { far_work, work, near_work, busy, leaf, nothing };

/// Which thread is inside (task/door.hpp) and shows entries. The worker's own thread knows where it stands itself. Its
/// attendant does not: that thread forks and returns meanwhile, on the fork path, which has no door.
enum class server : std::uint8_t { owner, attendant };

class deque {
 public:
  virtual ~deque() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Entries shown to thieves, and those of them that came back unused.
  struct counters {
    std::uint64_t published = 0;
    std::uint64_t taken_back = 0;
  };
  [[nodiscard]] virtual counters counts() const noexcept = 0;

  // --- owner ---------------------------------------------------------------------------------------
  /// The region now holds the frames of one task alone, which begin at BASE and will complete to DIE_RECORD.
  virtual void reset(std::uintptr_t base, std::uint64_t die_record) noexcept = 0;
  /// The task that begins is the root of a run; false: it has left. What it forks first are the largest parts of the
  /// run: they are kept for other nodes.
  virtual void is_root([[maybe_unused]] bool now) noexcept {}
  /// The doorbell was seen at a fork, whose entry has just been pushed.
  virtual void forked() noexcept = 0;
  /// Gives to thieves what they asked for; at a fork or anywhere else in a task.
  virtual void serve(server who) noexcept = 0;
  /// The child that returns next to the frame saved at SP, which is private, is to take the slow path.
  virtual void return_slowly(std::uintptr_t sp) noexcept = 0;
  /// A child returned to the frame saved at SP, and the deque has an entry for it. True: the parent is still here, and
  /// its entry is popped. False: it was taken, and so was every older one that take_older() does not find.
  virtual bool take_back(std::uintptr_t sp) noexcept = 0;
  /// No entry lies below the running task: it is the one that reset() named, and its parent is elsewhere.
  [[nodiscard]] virtual bool at_base() const noexcept = 0;
  /// Where the running task's frames begin: its parent's saved stack pointer, or the base.
  [[nodiscard]] virtual std::uintptr_t task_base() const noexcept = 0;
  /// Where the running task will complete once its parent has been taken, or was elsewhere from the start.
  [[nodiscard]] virtual std::uint64_t die_record() const noexcept = 0;
  /// The running task suspends and leaves its place to its parent, whose frame is at SP. True: the parent is here, and
  /// its entry is popped. False as for take_back.
  virtual bool pop(std::uintptr_t sp) noexcept = 0;
  /// Undoes a pop: the task goes on after all.
  virtual void push_again() noexcept = 0;
  /// How many of the newest entries no thief has seen: pop() finds each of them here.
  [[nodiscard]] virtual std::size_t unseen() const noexcept = 0;
  /// How many entries the array holds below the next one, also where reset() has made the oldest of them mean nothing.
  [[nodiscard]] virtual std::size_t depth() const noexcept = 0;
  /// Behind reset(): ENTRIES, newest first, of which unseen() knew before they were popped, are here again. The array
  /// holds DEPTH others, as it did below the oldest of these: the frames know where in the array they have their
  /// entries. Their exceptions are the process's again, so no thief sees them.
  virtual void put_back(std::size_t depth, std::span<const std::uintptr_t> entries) noexcept = 0;
  /// When take_back() or pop() has returned false: the saved stack pointer of the newest entry that is still here,
  /// which is popped, and is that of the running task now; 0: all were taken. The one that runs it waits for quiet()
  /// before, since what lay below it may still be copied.
  virtual std::uintptr_t take_older() noexcept { return 0; }
  /// True when every frame that was taken has also been copied: the region may be overwritten.
  [[nodiscard]] virtual bool quiet() const noexcept = 0;
  /// How many continuations thieves have ever taken, modulo 2^24. The region is empty and quiet, so it stays what it is
  /// until the owner runs something again.
  [[nodiscard]] virtual std::uint64_t claimed() noexcept = 0;
  /// What steal_window::busy is while a task runs.
  [[nodiscard]] virtual std::uint64_t busy_word() const noexcept { return runs_task; }
  /// Where this worker shows suspended tasks that can run: steal() of the others looks there too.
  [[nodiscard]] virtual std::span<std::uint64_t, ready_words> shown_lists() noexcept = 0;

  // --- thief: its own region is empty and quiet ------------------------------------------------------
  /// In which phase of a steal the frames come.
  [[nodiscard]] virtual steal_phase copying() const noexcept = 0;
  virtual trace::steal_result steal(int victim, trace::stolen& got) = 0;
  /// At a worker whose memory is mapped. A hint: nothing is claimed, and no operation posted.
  [[nodiscard]] virtual sight glance(int victim) = 0;
};

/// The owner's array. Memory with a guard page behind it: an overflow is a fault that the runtime explains.
class slots {
 public:
  slots(arch::hot_state& hot, std::uintptr_t* memory) noexcept : hot_(hot), origin_(memory + 1) { clear(0); }

  void clear(std::uintptr_t base) noexcept { begin(base, 0); }
  [[nodiscard]] std::size_t depth() const noexcept { return static_cast<std::size_t>(hot_.bottom - origin_); }
  /// ENTRIES, newest first, at DEPTH and above, and nothing else: the tasks lie on the base that clear() was given.
  void put_back(std::size_t depth, std::span<const std::uintptr_t> entries) noexcept {
    begin(first_[-1], depth);
    for (std::size_t left = entries.size(); left-- > 0;) *hot_.bottom++ = entries[left];
  }
  [[nodiscard]] std::uintptr_t* first() const noexcept { return first_; }
  [[nodiscard]] bool empty() const noexcept { return hot_.bottom == first_; }
  /// Where the running task's frames begin: its parent's saved stack pointer, or the base.
  [[nodiscard]] std::uintptr_t top_sp() const noexcept { return hot_.bottom[-1]; }

 private:
  void begin(std::uintptr_t base, std::size_t depth) noexcept {
    first_ = origin_ + depth;
    first_[-1] = base;
    hot_.bottom = first_;
  }

  arch::hot_state& hot_;
  std::uintptr_t* origin_;
  std::uintptr_t* first_ = nullptr;
};

}  // namespace tobi::deque
