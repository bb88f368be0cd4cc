// SPDX-License-Identifier: Apache-2.0
// A rank's queue of tasks, as its owner uses it: HPDC'12, section 6, figures 2 and 3. Tasks lie in a ring in registered
// memory, so that a thief gets them with one transfer.
//
//   tail_ .. split_   the shared part: thieves take from `tail_` on (shared_part.hpp)
//   split_ .. head_   the private part: the owner takes from `head_` down, without an atomic
//
// All of these are counts of tasks since the start, and name ring places modulo the capacity. `tail_` moves with claims
// alone, so it is also how many tasks thieves have claimed.
//
//   Q1  Only the owner moves `split_`, in one compare-and-swap of the shared word; it moves down over what no claim has
//       reached, because a claim in between makes it fail. Where thieves ask the owner it is a store: there are no
//       other claims.
//   Q2  Places below `tail_` are written again once all claimed tasks are copied: `copied` equals `tail_` (the paper's
//       invariant 1, itail == stail).
//   Q3  A task is in one place: the ring, the overflow, the hands of the rank that executes it, or a thief's ring.
//
// tests/models/queue.pml checks them, with each load of the owner's as a step of its own.
//
// The paper's owner keeps half of its tasks to itself, and a long task hides them from thieves that have nothing. This
// owner keeps what it can execute in `private_ns`, by the time that tasks have taken so far; and what it keeps while a
// task takes longer all the same, its attendant shares (attendant.hpp).
//
// What the ring has no place for waits in ordinary memory, the newest last, until there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcore/net/fabric.hpp"
#include "libcore/pool/shared_part.hpp"
#include "libcore/pool/words.hpp"

namespace tobi::pool {

class queue {
 public:
  /// What an owner keeps to itself takes so long to execute: 400 times a compare-and-swap that nobody disputes, ten
  /// times one by way of a network device.
  static constexpr std::uint64_t private_ns = 20'000;

  /// How shared tasks are taken: not at all; by thieves themselves; by this rank, for the thieves that ask it.
  enum class thieves : std::uint8_t { none, one_sided, asking };

  /// A ring of CAPACITY tasks of TASK_BYTES behind WORDS.
  queue(net::fabric& net, collection_words& words, std::size_t task_bytes, std::uint64_t capacity, thieves there_are);

  /// Adds the task at TASK.
  void add(const void* task);
  /// Takes a task to TASK. False: there is none here.
  [[nodiscard]] bool take(void* task);
  /// A task has taken NS.
  void took(std::uint64_t ns) noexcept;
  /// Shares all that is private. Of the owner, or of its attendant while a task runs.
  void share();
  /// Shares all there is. True: there is none left.
  [[nodiscard]] bool gives_away();
  /// Tasks that lie side by side in the ring, from place FIRST on, but for its end.
  struct portion {
    std::uint64_t first;
    std::uint64_t count;
  };
  /// Marks half of what is shared as claimed, for a thief that asks and has room for MOST.
  [[nodiscard]] portion give(std::uint64_t most);
  /// Drops all tasks, outside of process().
  void drop();

  /// How many tasks thieves have claimed in all. Exact where take() has just found nothing.
  [[nodiscard]] std::uint64_t claimed() const noexcept { return tail_now(); }
  /// Waits, by turns of WAIT, until COUNT tasks fit behind the head. The queue is empty: only thieves that have not
  /// copied yet keep places. They may wait for room themselves, for thieves of their own, but in no circle: a rank
  /// claims when it has nothing left to be claimed, so the rank that it waits for has claimed earlier.
  template <class Wait>
  void make_room(std::uint64_t count, Wait wait) {
    while (!has_room(count)) wait();
  }
  /// Where the task that is added as the I-th from now on lies.
  [[nodiscard]] std::byte* place_behind(std::uint64_t i) const noexcept { return place(head_ + i); }
  /// How many places from place_behind(I) on lie side by side.
  [[nodiscard]] std::uint64_t run_behind(std::uint64_t i) const noexcept { return capacity_ - (head_ + i) % capacity_; }
  /// The place behind the head, as a count of tasks, and how many tasks fit from there on.
  [[nodiscard]] std::uint64_t head() const noexcept { return head_; }
  [[nodiscard]] std::uint64_t room() const noexcept { return capacity_ - (head_ - reused_); }
  [[nodiscard]] const std::byte* at_place(std::uint64_t place) const noexcept { return ring_ + place * task_bytes_; }
  /// COUNT tasks were written there, which were stolen. One of them this worker executes itself: else thieves that all
  /// have nothing take the last task from each other, and nobody executes it.
  void added(std::uint64_t count);
  /// Whether there is no task here. Exact where take() has just found nothing.
  [[nodiscard]] bool empty() const noexcept { return head_ == split_ && part().left() == 0 && overflow_.empty(); }

  /// What of Q1 and Q2 the owner can see, or the attendant in its place, between two of their calls.
  [[nodiscard]] bool is_valid() const noexcept;

  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t task_bytes() const noexcept { return task_bytes_; }

 private:
  static constexpr std::uint64_t weight = 8;  // of the past in the mean time of a task

  [[nodiscard]] std::byte* place(std::uint64_t index) const noexcept { return ring_ + index % capacity_ * task_bytes_; }
  [[nodiscard]] shared_part part() const noexcept;
  [[nodiscard]] std::uint64_t tail_now() const noexcept { return base_ + part().claimed(); }
  [[nodiscard]] bool has_room(std::uint64_t count) noexcept;
  [[nodiscard]] std::uint64_t may_keep() const noexcept;
  std::uint64_t move_split(std::uint64_t to);
  bool take_back();
  void refill();
  void offer(std::uint64_t kept);
  void tell() noexcept;

  net::fabric& net_;
  collection_words& words_;
  std::byte* ring_;
  std::size_t task_bytes_;
  std::uint64_t capacity_;
  thieves thieves_;
  std::uint64_t base_ = 0;  // the tail when the shared word was written last
  std::uint64_t split_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t reused_ = 0;   // places below this count are free (the paper's ctail)
  std::uint64_t mean_ns_ = 0;  // of a task, times `weight`; 0: none has run
  bool told_ = false;          // the window says that something is private
  std::vector<std::byte> overflow_;
};

}  // namespace tobi::pool
