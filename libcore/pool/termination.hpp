// SPDX-License-Identifier: Apache-2.0
// When no rank has a task any more: waves over a tree of the ranks (Francez, as HPDC'12 uses it, section 6).
//
// A wave goes up: a rank that has no task, and has the tokens of its children, sends its own to its parent. A token is
// void if the rank was stolen from since its last token, or if a child's token is void. The root that has none sends
// down that all is over, and with a void one, that the next wave begins.
//
// Why it never ends too early. Let all tokens of a wave be valid, and suppose that some rank had a task after its own
// token. It had stolen it; of all such steals take the first, by time: thief T, victim V. V had tasks then. It had them
// before its own token, or else it would have stolen them after it, and earlier. So V was stolen from before its token
// of this wave, and after its token of the wave before: T took part in this wave, which had begun. Then V's token is
// void. What a rank counts as stolen from it counts claims, and it counts exactly when it sends a token, because a
// claim behind that finds nothing (shared_part.hpp). Adding tasks needs a task.
//
// Why it ends: where nobody has a task nobody steals, and the wave after the next is valid.
//
// Waves are numbered across all of a collection's process() calls, so no word is ever set back, and a token may arrive
// at a parent that has not begun yet. The words are puts of eight bytes, which arrive whole.
//
// A rank whose task has thrown says so to its neighbours in the tree, and these to theirs: all drop their tasks.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/net/fabric.hpp"
#include "libcore/pool/peers.hpp"
#include "libcore/pool/words.hpp"

namespace tobi::pool {

class termination {
 public:
  termination(net::fabric& net, peers& others, collection_words& own);

  /// A process() begins, and no rank steals yet. CLAIMED: as for passive().
  void begin(std::uint64_t claimed) noexcept;
  /// This rank has no task, and thieves have claimed CLAIMED from it in all. True: nobody has any.
  [[nodiscard]] bool passive(std::uint64_t claimed);
  /// All are to drop their tasks.
  void abandon();
  /// Whether they are. Passes it on. A load where it is not so.
  [[nodiscard]] bool abandoned();

  [[nodiscard]] std::uint64_t waves() const noexcept { return waves_; }
  /// Whether no token is of a wave that cannot have begun.
  [[nodiscard]] bool is_valid() const noexcept;

 private:
  void tell(int rank, std::uint64_t offset, std::uint64_t word);
  void tell_children(std::uint64_t word);

  net::fabric& net_;
  peers& peers_;
  collection_words& own_;
  int parent_ = -1;       // -1: this is the root
  std::size_t seat_ = 0;  // among its parent's children
  std::vector<int> children_;
  std::uint64_t wave_ = 1;       // the one that is under way
  bool sent_ = false;            // this rank's token of it
  std::uint64_t counted_ = 0;    // claims, at the last token
  std::uint64_t processed_ = 0;  // process() calls
  bool passed_on_ = false;       // that this one is abandoned
  std::uint64_t waves_ = 0;      // of this process()
};

}  // namespace tobi::pool
