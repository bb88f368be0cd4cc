// SPDX-License-Identifier: Apache-2.0
// The contexts that have become ready here: suspended tasks whose record is done. They are work like any other, so a
// thief may take them.
//
// What is ready comes as lists: a word names the image of a suspended task, and that image names up to three more lists
// (waiters.hpp). A worker shows a list in each of several words that thieves look at; what does not fit waits in
// private memory and is shown when words are empty: when a list is added, at a fork whose bell has rung, in poll(), and
// by the worker's attendant. A thief that leaves only one word filled rings the bell.
//
// Protocol (tests/models/ready_word.pml), of each word by itself: the owner stores by compare-and-swap 0 -> list, and
// takes back, as a thief takes, by compare-and-swap list -> 0. The worker that empties the word owns the list; the
// images are read only after that. A word may hold the same value twice, when an image has been freed and its memory
// holds another one: a thief whose compare-and-swap was meant for the first then gets the second, whole, since the word
// names the list and nothing was read before. So there is no tag to protect. A thief keeps the first task and shows the
// rest as its own.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "libcore/deque/deque.hpp"
#include "libcore/deque/window.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::deque {

class ready_contexts {
 public:
  /// SHOWN: the words that thieves see. Without THIEVES nothing is ever shown.
  void start(net::fabric& net, std::span<std::uint64_t, ready_words> shown, bool thieves) noexcept;

  /// Adds a list, to be taken next by the owner.
  void push(std::uint64_t list) { lists_.push_back(list); }
  /// Shows to thieves what they do not see yet, the oldest lists first. Costs nothing where there is nothing to show.
  void show() noexcept {
    if (!lists_.empty() && thieves_) show_oldest();
  }
  /// Whether some wait for room: there are more than fit.
  [[nodiscard]] bool has_more() const noexcept { return thieves_ && !lists_.empty(); }
  /// The newest list that is not shown, else one that is; 0 when there is none.
  [[nodiscard]] std::uint64_t take() noexcept;
  /// How many lists thieves have taken. Exact when take() has just returned 0.
  [[nodiscard]] std::uint64_t claimed() const noexcept { return claimed_; }

 private:
  void show_oldest() noexcept;
  void thief_was_at(std::size_t index) noexcept;
  [[nodiscard]] std::uint64_t load(std::size_t index) const noexcept;
  [[nodiscard]] net::location here(std::size_t index) const noexcept {
    return {first_here_.rank(), first_here_.offset() + index * sizeof(std::uint64_t)};
  }

  net::fabric* net_ = nullptr;
  std::uint64_t* words_ = nullptr;
  net::location first_here_;
  bool thieves_ = false;
  std::deque<std::uint64_t> lists_;  // that are not shown
  std::uint64_t claimed_ = 0;
  bool filled_[ready_words]{};  // and nobody has been seen to have emptied it
  std::size_t shown_ = 0;       // so many are
  std::size_t last_filled_ = 0;
};

// --- a thief's ---------------------------------------------------------------------------------------

/// How many of the words name a list.
[[nodiscard]] constexpr std::size_t lists_in(std::span<const std::uint64_t, ready_words> words) noexcept {
  std::size_t n = 0;
  for (const std::uint64_t w : words) n += w != 0 ? 1 : 0;
  return n;
}

/// Which list a thief takes. Thieves that see the same words should not meet at the same one, and one that has lost a
/// race should not go back to where it lost it.
class list_choice {
 public:
  /// The index of one of the LISTS lists among WORDS.
  [[nodiscard]] std::size_t of(std::span<const std::uint64_t, ready_words> words, std::size_t lists,
                               int thief) noexcept {
    std::size_t skip = (static_cast<std::size_t>(thief) + turn_++) % lists;
    std::size_t index = 0;
    while (words[index] == 0 || skip-- != 0) ++index;
    return index;
  }

 private:
  std::size_t turn_ = 0;
};

/// Takes LIST, which the thief has seen in the word at WORD, and brings the image of its first task in the same chain
/// where there are chains and it lies there too. False: the word says something else by now.
[[nodiscard]] bool claim_list(net::fabric& net, net::location word, std::uint64_t list, trace::stolen& got);

}  // namespace tobi::deque
