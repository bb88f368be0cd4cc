// SPDX-License-Identifier: Apache-2.0
// The steal window: all that a thief sees of a victim's deque, and the words that it writes. What a look needs that
// finds nothing comes first, in two cache lines; the entries follow.
//
//   W = {tag:16, top:24, split:24}      thieves may take top .. split-1; everything changes it by compare-and-swap
//   entry = {seq:16, kind:2, bytes:23, offset:23}, bytes and offset in units of 16, offset below the stack's top
//   ticket: what the entry's thief must wait for before it reads global memory; 0: nothing
//
// Indices grow with every publication that lasts, modulo 2^24, and name ring slots modulo `ring`. An entry is one word,
// so that a remote read takes it whole; its seq is the low bits of its index, so that most readings whose words come
// from different moments, which a NIC may give, are seen not to fit before anything is claimed (steal_word.hpp says
// what catches the rest). The tag changes with every successful change of W, so a claim that was computed from an old W
// fails.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tobi::deque {

inline constexpr std::uint32_t ring = 8;
inline constexpr std::size_t ready_words = 13;
inline constexpr std::uint64_t index_mask = (1u << 24) - 1;
inline constexpr std::size_t entry_unit = 16;  // 23 bits of units reach 128 MiB, the largest TOBI_STACK_SIZE

/// A word of shared memory, for the CPU's own atomics.
inline std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) noexcept {
  return std::atomic_ref<std::uint64_t>(word);
}

enum class bell : std::uint8_t { publish = 0, release = 1, begins = 2, publish_near = 3, letters = 4, sticky = 7 };
inline constexpr std::uint8_t rung_value = 1;

/// The bells of an owner, a byte each: a put sets one without an atomic, and changes no other. All of them are one
/// word, at which the owner looks at each fork. Relaxed: a bell carries nothing, and what it asks for is looked up
/// behind it.
class doorbell {
 public:
  [[nodiscard]] bool rung(bell which) noexcept { return byte(which).load(std::memory_order_relaxed) != 0; }
  void ring(bell which) noexcept { byte(which).store(rung_value, std::memory_order_relaxed); }
  void lower(bell which) noexcept { byte(which).store(0, std::memory_order_relaxed); }
  /// As it is at one moment.
  [[nodiscard]] doorbell now() noexcept {
    doorbell seen{};
    seen.word_ = atomic(word_).load(std::memory_order_relaxed);
    return seen;
  }
  [[nodiscard]] const std::uint64_t* word() const noexcept { return &word_; }
  /// Where a put rings WHICH.
  [[nodiscard]] std::uint8_t* place(bell which) noexcept {
    return reinterpret_cast<std::uint8_t*>(&word_) + static_cast<int>(which);
  }

 private:
  [[nodiscard]] std::atomic_ref<std::uint8_t> byte(bell which) noexcept {
    return std::atomic_ref<std::uint8_t>(*place(which));
  }
  std::uint64_t word_;
};

/// What steal_window::busy says of an owner that runs a task. One that shows something to its neighbours apart says so,
/// and a thief of another node looks for that in no other's.
inline constexpr std::uint64_t runs_task = 1;
inline constexpr std::uint64_t runs_task_apart = 2;
/// With either: the task is of a loop's part that has its data on this node (sched/own_part.hpp).
inline constexpr std::uint64_t runs_part = 4;

/// What steal_window::attendant says. Thieves call an attendant that sleeps, and no other.
enum class attending : std::uint32_t {
  asleep = 0,
  called = 1,
  idle = 2,  // asleep, and it has just found nothing to give; the owner makes that `asleep` when it forks again
};

/// An entry and its ticket, side by side: a thief that reads the entry again after its claim has the ticket with it.
struct window_slot {
  std::uint64_t entry;
  std::uint64_t ticket;
};

/// What thieves of the same node use where the transport's atomics and the CPU's do not exclude each other: its word is
/// changed by CPU atomics alone. It has the bell `publish_near`; all else is steal_window's.
struct alignas(64) near_window {
  std::uint64_t word;
  std::uint64_t ack[ring];
  window_slot slot[ring];
};

struct alignas(64) steal_window {
  // What thieves read, in one get.
  std::uint64_t word;  // W
  std::uint64_t busy;  // the owner runs a task, so ringing makes sense: runs_task and its like; else 0
  doorbell bells;
  std::uint64_t ready[ready_words];  // each a list of suspended tasks that can run, or 0: see ready.hpp
  window_slot slot[ring];            // of the indices top .. split-1, at index % ring
  // What thieves write.
  std::uint64_t ack[ring];  // index + 1 of the last entry copied out of this slot
  // Thieves of the same host alone.
  std::uint64_t rung_ns;    // when the bell was rung
  std::uint32_t attendant;  // attending; a futex
  std::uint32_t looks_far;  // in the window of a node's first rank: how many of its sleepers try other nodes right now
  std::uint32_t sleepers;   // there too: how many of the node sleep (sched/sleepers.hpp)
  std::uint32_t asleep;     // the owner does, and is to be called
  std::uint64_t alarm;      // the name of the socket that ends its sleep; 0: it has none
  near_window near;
};
static_assert(offsetof(steal_window, slot) == 128);
inline constexpr std::size_t window_line_bytes = offsetof(steal_window, ack);
static_assert(window_line_bytes <= 256, "transports keep the words of a longer get whole only where they must");
static_assert(sizeof(near_window) <= 256);

struct window_word {
  std::uint64_t tag, top, split;

  static constexpr window_word unpack(std::uint64_t w) noexcept {
    return {w >> 48, (w >> 24) & index_mask, w & index_mask};
  }
  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    return (tag & 0xffff) << 48 | (top & index_mask) << 24 | (split & index_mask);
  }
  [[nodiscard]] constexpr std::uint64_t size() const noexcept { return (split - top) & index_mask; }
  [[nodiscard]] constexpr window_word claimed() const noexcept { return {tag + 1, (top + 1) & index_mask, split}; }
  [[nodiscard]] constexpr window_word published() const noexcept { return {tag + 1, top, (split + 1) & index_mask}; }
  [[nodiscard]] constexpr window_word reclaimed() const noexcept { return {tag + 1, top, (split - 1) & index_mask}; }
};

/// Frames in place are what a deque holds. Suspended tasks have words of their own (ready.hpp): they are taken whole
/// by one compare-and-swap, and are no part of the order in which the owner's forks return.
enum class entry_kind : std::uint8_t { in_place = 0 };

struct window_entry {
  std::uint64_t seq;
  entry_kind kind;
  std::uint64_t bytes;   // of stack
  std::uint64_t offset;  // from the top of the stack region down to the saved stack pointer

  static constexpr window_entry unpack(std::uint64_t e) noexcept {
    constexpr std::uint64_t mask23 = (1u << 23) - 1;
    return {e >> 48, static_cast<entry_kind>((e >> 46) & 3), ((e >> 23) & mask23) * entry_unit,
            (e & mask23) * entry_unit};
  }
  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    return (seq & 0xffff) << 48 | static_cast<std::uint64_t>(kind) << 46 | (bytes / entry_unit) << 23 |
           offset / entry_unit;
  }
  /// Whether this entry is that of INDEX and means something; a torn or stale line is refused here.
  [[nodiscard]] constexpr bool fits(std::uint64_t index, std::size_t stack_bytes) const noexcept {
    return seq == (index & 0xffff) && bytes != 0 && bytes <= offset && offset <= stack_bytes;
  }
};

/// Whether a thief has asked for work in the window W, of its own node or of another one.
inline bool asked(steal_window& w) noexcept { return w.bells.rung(bell::publish) || w.bells.rung(bell::publish_near); }

/// How many entries are shown to the thieves of the same node alone; a hint.
inline std::uint64_t near_entries(steal_window& w) noexcept {
  return window_word::unpack(std::atomic_ref(w.near.word).load(std::memory_order_relaxed)).size();
}

/// A window in which nothing is published and every slot looks acknowledged.
constexpr void clear_window(steal_window& w) noexcept {
  w = steal_window{};
  for (std::uint64_t s = 0; s < ring; ++s) w.ack[s] = w.near.ack[s] = (s + 1 - ring) & index_mask;
}

}  // namespace tobi::deque
