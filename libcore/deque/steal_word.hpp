// SPDX-License-Identifier: Apache-2.0
// The default deque: split, private by default, one word for the thieves.
//
// Owner: entries above the split are private; fork and return touch nothing else. When the doorbell rings the owner
// shows the oldest private entries in the window (`publish`); when a child returns to a shown entry it takes that one
// back by compare-and-swap. A record is made when an entry is published, so a fork that no thief asked for has none. At
// the begin of a task the owner rings its own bell for the first few forks: a thief has just found that it needs more.
//
// Attendant: where the owner does not respond, because it computes and does not fork, its attendant publishes in its
// place (sched/attendant.hpp). Both are never in here at once (task/door.hpp), but the owner's fork path has no door.
// So the attendant first moves split_sp down over the entries that it wants, makes the owner's core pass a barrier, and
// then looks which of them are still there (hold_back()). From then on a return to one of them takes the slow path,
// which waits at the door; a return that compared before the barrier had lowered `bottom` before it compared.
//
// Two windows, where a job has other nodes: the thieves of this one have a window of their own, whose word nobody
// changes but by the CPU, with a bell of its own; an entry is in one of the two. So a near steal needs no NIC where the
// transport's atomics and the CPU's do not exclude each other, and what is meant for another node is not taken by a
// neighbour, which is always faster. The older a private entry the sooner it is shown, in whichever window somebody has
// asked; what a run's root forks first is shown to other nodes. Nobody starves by the wrong choice: a near thief whose
// ring has no effect takes from the far window, by the transport; and an owner that has nothing private left for a far
// one moves the older half of what the near window still has.
//
// Thief, two dependent round trips, three where there are no chains:
//   1. get the window's line. Nothing there: ring the bell if the victim is busy, and give up: nothing was changed.
//      Lists of suspended tasks there: take one (ready.hpp), which is another matter than the steps below.
//   2. one chain: compare-and-swap W (top+1, tag+1), and behind it get the entry again, and the frames that the first
//      reading named, to the same addresses here. The second reading is the one that counts: an index that was taken
//      back and published anew may have been read as it was before. Where they differ, which is rare, the frames are
//      fetched once more. Then, unwaited: the acknowledgement, and the bell if the window is now empty.
// In the near window the same is loads, one compare-and-swap, and copies, and the entry is read behind the claim alone.
//
// Invariants (checked by tests/models/steal_word.pml):
//   I1  top only grows, by a thief's successful compare-and-swap; split changes only by the owner's. So each index is
//       taken once, by a thief or by the owner.
//   I2  an entry, its ticket, its frame's record and die_record are written before the W that shows them (release), and
//       read after it (acquire, or the order of the chain); the frames do not change while top <= index.
//   I3  a slot of the ring is written again only after the entry that it held was acknowledged or taken back.
//   I4  the owner lets other frames into its region, or goes on with a frame below which others were taken, only when
//       every taken entry is acknowledged, in both windows (quiet()).
//   I5  a frame at or above split_sp is popped by the slow path alone, under the door; every published one is.
//   I6  of the entries that are shown in one window, the one with the higher index is the younger one. So thieves take
//       the oldest there; and when the youngest shown entry is gone, all that are left are in the other window, and the
//       youngest of those is the one to go on with (take_older()).
#pragma once

#include "libcore/deque/deque.hpp"
#include "libcore/deque/ready.hpp"
#include "libcore/deque/window.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::deque {

/// Where records come from and go to: the worker's remote objects, and a test's array.
class record_source {
 public:
  virtual ~record_source() = default;
  /// The location word of a fresh record, or 0 when the heap is exhausted.
  virtual std::uint64_t make_record() noexcept = 0;
  virtual void drop_record(std::uint64_t record) noexcept = 0;
  /// What a frame saved at SP takes with it besides its record: the finish around it, or 0.
  [[nodiscard]] virtual std::uint64_t finish_at(std::uintptr_t sp) const noexcept {
    (void)sp;
    return 0;
  }
  /// Whether the private entries must stay here: an exception is under way or in a catch clause, it belongs to this
  /// process, and which of them it will pass is not known. Callable by the attendant.
  [[nodiscard]] virtual bool keeps_entries() const noexcept { return false; }
  /// What the thief of an entry that is shown now must wait for; 0: nothing.
  virtual std::uint64_t release_ticket() noexcept { return 0; }
};

class steal_word final : public deque {
 public:
  /// WINDOW is in this worker's heap region, at the same offset in everybody's. STACK_HIGH is the top of the
  /// uni-address region. NODES: of the job, where there are thieves on this one and on others; else 1.
  steal_word(arch::hot_state& hot, std::uintptr_t* slot_memory, net::fabric& net, steal_window& window,
             record_source& records, std::uintptr_t stack_high, std::size_t stack_bytes, bool thieves = true,
             std::size_t nodes = 1) noexcept;

  [[nodiscard]] std::string_view name() const noexcept override { return "steal_word"; }
  [[nodiscard]] counters counts() const noexcept override { return counters_; }
  void reset(std::uintptr_t base, std::uint64_t die_record) noexcept override;
  void is_root(bool now) noexcept override { far_first_ = now ? root_far_first_ : 0; }
  void forked() noexcept override;
  void serve(server who) noexcept override;
  void return_slowly(std::uintptr_t sp) noexcept override;
  bool take_back(std::uintptr_t sp) noexcept override;
  bool pop(std::uintptr_t sp) noexcept override { return take_back(sp); }
  void push_again() noexcept override { ++hot_.bottom; }
  [[nodiscard]] std::size_t unseen() const noexcept override {
    return hot_.bottom > split_ ? static_cast<std::size_t>(hot_.bottom - split_) : 0;
  }
  [[nodiscard]] std::size_t depth() const noexcept override { return slots_.depth(); }
  void put_back(std::size_t depth, std::span<const std::uintptr_t> entries) noexcept override;
  std::uintptr_t take_older() noexcept override;
  [[nodiscard]] bool at_base() const noexcept override { return slots_.empty(); }
  [[nodiscard]] std::uintptr_t task_base() const noexcept override { return slots_.top_sp(); }
  [[nodiscard]] std::uint64_t die_record() const noexcept override { return newest_record_; }
  [[nodiscard]] bool quiet() const noexcept override;
  [[nodiscard]] std::uint64_t claimed() noexcept override;
  [[nodiscard]] std::span<std::uint64_t, ready_words> shown_lists() noexcept override { return window_.ready; }
  [[nodiscard]] std::uint64_t busy_word() const noexcept override { return near_apart_ ? runs_task_apart : runs_task; }
  [[nodiscard]] steal_phase copying() const noexcept override { return steal_phase::steal; }
  trace::steal_result steal(int victim, trace::stolen& got) override;
  [[nodiscard]] sight glance(int victim) override;

  /// What of I1, I2, I5 and I6 the owner can see, or the attendant in its place, between two of their calls.
  [[nodiscard]] bool is_valid() const noexcept;

 private:
  // A window as its owner sees it.
  struct face {
    std::uint64_t* word;
    window_slot* slot;
    std::uint64_t* ack;
    bell asks;                                  // how its thieves ask
    bool by_cpu;                                // what changes the word
    std::array<std::uintptr_t*, ring> entry{};  // of an index, at index % ring: the owner's slot
  };

  trace::steal_result take_context(int victim, std::size_t shown, trace::stolen& got);
  [[nodiscard]] std::uint64_t load_word(const face& in) const noexcept;
  [[nodiscard]] std::uint64_t shown(const face& in) const noexcept;
  bool change_word(const face& in, std::uint64_t& seen, window_word wanted) noexcept;
  [[nodiscard]] bool acknowledged(const face& in, std::uint64_t index) const noexcept;
  [[nodiscard]] bool has_room(const face& in) const noexcept;
  [[nodiscard]] bool is_valid(const face& in) const noexcept;
  void show(face& in, std::uintptr_t* entry) noexcept;
  bool publish_one(face& in) noexcept;
  bool move_far() noexcept;
  void pop_shown(std::uintptr_t* entry) noexcept;
  [[nodiscard]] std::uintptr_t* bottom() const noexcept;
  [[nodiscard]] std::uintptr_t* hold_back(std::uint64_t room) noexcept;
  void draw_line() noexcept;
  void lower_bell(bell which) noexcept;
  void ring_bell(int victim);
  bool insist(int victim, bool at_once);
  trace::steal_result attempt(int victim, trace::stolen& got, bool insisted);
  // Where the words of a window lie in steal_window.
  struct places {
    std::size_t word, slot, ack;
  };
  static constexpr places far_places{offsetof(steal_window, word), offsetof(steal_window, slot),
                                     offsetof(steal_window, ack)};
  static constexpr places near_places{offsetof(steal_window, near) + offsetof(near_window, word),
                                      offsetof(steal_window, near) + offsetof(near_window, slot),
                                      offsetof(steal_window, near) + offsetof(near_window, ack)};
  trace::steal_result claim(int victim, const places& in, std::uint64_t word, const window_slot (&slots)[ring],
                            trace::stolen& got, std::uint64_t mark);
  trace::steal_result attempt_near(steal_window& window, int victim, trace::stolen& got, bool insisted);
  trace::steal_result claim_near(steal_window& window, int victim, trace::stolen& got, std::uint64_t mark);

  arch::hot_state& hot_;
  slots slots_;
  net::fabric& net_;
  steal_window& window_;
  record_source& records_;
  std::uintptr_t stack_high_;
  std::size_t stack_bytes_;
  net::location word_here_;
  bool near_apart_;                  // thieves of this node have a window of their own, and there are others
  std::uint64_t root_far_first_;     // so many entries of a root are shown to other nodes before this one has any
  std::uint64_t far_first_ = 0;      // of them, those that the running root has not made yet
  face far_;                         // of all thieves, unless NEAR_APART
  face near_;                        // of those of this node
  std::uintptr_t* split_;            // the oldest private slot; slots before it are published or gone
  std::uintptr_t slow_from_;         // frames from here up return slowly, for another reason than the split
  bool thieves_;                     // there are some
  unsigned eager_ = 0;               // forks for which the owner's own bell stays up
  std::uint64_t newest_record_ = 0;  // where the child of the newest published entry, or the base task, completes
  counters counters_;
  // Thief's buffers, which operations may name until they are complete.
  alignas(64) steal_window line_{};
  std::uint64_t found_ = 0;
  window_slot slot_now_{};
  std::uint64_t ack_ = 0;
  list_choice choice_;
};

}  // namespace tobi::deque
