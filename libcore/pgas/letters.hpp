// SPDX-License-Identifier: Apache-2.0
// Updates of another worker's numbers, many in one letter, which that worker executes. They are for fabrics that move
// when their targets poll: there the target's processor executes each atomic and each put of a number anyway, and a
// message for each costs a thousand times what the addition does.
//
// A worker's box has places for some letters. A sender
//   1. draws a ticket T for each letter by a fetch-and-add on `drawn`, and reads `executed` with it,
//   2. reads `executed` again until T < executed + places,
//   3. puts the letter into place T % places and, behind it, T + 1 into `came` of that place, and rings the bell,
//   4. waits until T + 1 of its last letter is in its receipt.
// The owner executes letter after letter in the order of tickets, counts `executed` up, and puts the receipt where a
// letter names one: the last of those that a sender sends together. So one put of it is on its way at a time.
//
// Invariants (tests/models/letters.pml):
//   L1. A place has one writer at a time: that of ticket T, from executed > T - places to executed > T.
//   L2. `came` is T + 1 only behind all bytes of letter T, and never is it that again. So a letter is executed once.
//   L3. The bell is up while a ticket is out. The owner lowers it before it looks, and rings it again where `drawn` is
//       more than `executed`. So a ring that has overtaken its letter is not lost.
//   L4. Nobody waits in a circle. A sender puts a letter when its place is free, whatever its other letters wait for,
//       and serves its own box while it waits. The place of the lowest ticket that is out is free.
//   L5. The owner waits for nobody. A letter with a number whose lock another worker holds stays for the next time.
//
// What is written into a letter is executed before the receipt comes (a fence, and the put). The owner's CPU excludes
// the atomics of all others (net::fabric::cpu_atomics), or no letters are sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libcore/net/batch.hpp"
#include "libcore/pgas/numbers.hpp"

namespace tobi::pgas {

struct update_locks;

struct letter {
  static constexpr std::size_t most_words = 1022;  // 8 KiB with what comes before
  std::uint32_t kind;                              // of the numbers
  std::uint32_t words;                             // of TEXT
  std::uint64_t receipt;                           // a location; 0: a later one of the same sender names it
  // Runs of numbers next to each other: {numbers:20, offset in the owner's region:44}, and what is added to each, or
  // stored. A run of numbers that are changed under locks lies in one lot.
  std::uint64_t text[most_words];
};

/// In each worker's heap region, at the same offset.
struct letter_box {
  static constexpr std::uint64_t places = 8;
  alignas(64) std::uint64_t drawn;     // tickets; changed by senders' atomics alone
  alignas(64) std::uint64_t executed;  // letters; stored by the owner alone
  alignas(64) std::uint64_t came[places];
  letter letters[places];
};

/// What a bell's byte holds once it was rung.
inline constexpr std::uint8_t rung = 1;

/// What writers and readers know of their worker.
struct letter_parts {
  net::fabric* net = nullptr;
  letter_box* box = nullptr;     // this worker's
  std::uint8_t* bell = nullptr;  // likewise: this worker has letters
  std::byte* own_region = nullptr;
  update_locks* locks = nullptr;  // this worker's
};

class letter_reader {
 public:
  explicit letter_reader(const letter_parts& parts) noexcept : parts_(parts) {}
  /// Executes the letters that have come. Waits for nobody.
  void serve() noexcept;

 private:
  [[nodiscard]] bool has_come() const noexcept;
  [[nodiscard]] bool execute(const letter& one) noexcept;
  [[nodiscard]] bool hold_lock(std::uint64_t home) noexcept;
  void give_up_lock() noexcept;

  letter_parts parts_;
  std::uint64_t executed_ = 0;
  std::uint32_t at_ = 0;           // how far the letter was executed
  std::uint64_t* lock_ = nullptr;  // that is held
};

class letter_writer {
 public:
  /// TAKE: registered memory, aligned to 64 bytes; does not return where there is none. SERVE: what this worker owes to
  /// others while it waits, its own letters first.
  letter_writer(const letter_parts& parts, std::function<std::byte*(std::size_t)> take, std::function<void()> serve);

  /// Writes that the COUNT numbers at HOME of RANK's region are to become more by those at VALUES. Numbers of one
  /// worker share letters where they come one behind the other.
  void add(int rank, number_kind kind, std::uint64_t home, const std::byte* values, std::size_t count);
  /// Sends what was written, and waits until all of it is executed.
  void finish();

 private:
  static constexpr std::size_t at_once = 16;
  // Letters to one worker, [FIRST, FIRST + COUNT) of those that are written.
  struct post {
    int rank;
    std::size_t first;
    std::size_t count;
    std::size_t delivered;
  };
  struct staging;

  [[nodiscard]] letter& open(int rank, number_kind kind);
  void draw_tickets();
  bool deliver();
  [[nodiscard]] bool take_receipts();

  letter_parts parts_;
  net::batch batch_;
  std::function<std::byte*(std::size_t)> take_;
  std::function<void()> serve_;
  staging* staging_ = nullptr;
  std::size_t written_ = 0;  // letters
  std::vector<post> posts_;  // of them
};

}  // namespace tobi::pgas
