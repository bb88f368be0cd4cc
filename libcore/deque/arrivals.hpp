// SPDX-License-Identifier: Apache-2.0
// Tasks that were sent here by others, to go on where their data are: a few words of each worker, in which a sender
// leaves the location of the task's image.
//
// Protocol (tests/models/ready_word.pml, with the roles exchanged), of each word by itself: senders store by
// compare-and-swap 0 -> image, and the owner alone takes, by compare-and-swap image -> 0. The sender that fills the
// word gives the image away with it, and reads it no more. The owner reads the image only after its own
// compare-and-swap, whose acquire meets the release of the sender's. Nobody fills a word that is full, so the owner's
// compare-and-swap never fails. It is one because a word that atomics change is changed by nothing else
// (net/README.md).
//
// Thieves do not look here. A worker that computes while something has arrived shows it among its ready tasks: at a
// fork where a thief has asked for work, else by its attendant (sched/presence.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "libcore/net/fabric.hpp"

namespace tobi::deque {

/// One of them is filled per loop that is spread over the workers, so few are full at once.
inline constexpr std::size_t arrival_words = 8;
/// In each worker's heap region, at the same offset.
struct alignas(64) arrival_area {
  std::uint64_t word[arrival_words];  // each an image with its tag, or 0
};

/// Tag on the image of a task that no thief may take from the worker to which it was sent.
inline constexpr std::uint64_t for_owner_alone = 8;

class arrivals {
 public:
  void start(net::fabric& net, arrival_area& own) noexcept;

  /// Gives the task of IMAGE, with its tag, to RANK, which has not been told. False: there is no room, and the caller
  /// keeps it. One round trip as a rule.
  [[nodiscard]] bool send(int rank, std::uint64_t image);
  /// How many were sent from here.
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

  /// Of the owner, inside: one that has arrived, with its tag; 0: none. WITH_TIED: also those for the owner alone.
  [[nodiscard]] std::uint64_t take(bool with_tied) noexcept;
  /// Whether there may be one. Of any thread.
  [[nodiscard]] bool any(bool with_tied = true) const noexcept;

 private:
  [[nodiscard]] std::uint64_t load(std::size_t index) const noexcept;

  net::fabric* net_ = nullptr;
  arrival_area* own_ = nullptr;
  std::uint64_t sent_ = 0;
};

}  // namespace tobi::deque
