// The contexts that have become ready here: suspended tasks whose record is done. They are work like any other, so a
// thief may take them.
//
// What is ready comes as lists: a word names a suspended task's image, and by its tag says that another one follows
// (image::next). One list at a time is shown, in a word of its own in the line that thieves look at; the others wait in
// private memory and are shown when it is empty: at a fork whose bell has rung, in poll(), and when a list is added.
//
// Protocol (tests/models/ready_word.pml): the owner stores by compare-and-swap 0 -> list, and takes back, as a thief
// takes, by compare-and-swap list -> 0. Who empties the word owns the list; the images are read only after that. The
// word may hold the same value twice, when an image has been freed and its memory holds another one: a thief whose
// compare-and-swap was meant for the first then gets the second, whole, since the word names the list and nothing was
// read before. So there is no tag to protect. A thief keeps the first task and shows the rest as its own.
#pragma once

#include <cstdint>
#include <deque>

#include "libcore/task/deque.hpp"
#include "libcore/task/fabric.hpp"

namespace tobi::tasks {

class ready_contexts {
 public:
  /// SHOWN is the word that thieves see. Without THIEVES nothing is ever shown.
  void start(fabric& net, std::uint64_t& shown, bool thieves) noexcept;

  /// Adds a list, to be taken next by the owner.
  void push(std::uint64_t list) { lists_.push_back(list); }
  /// Shows the oldest list to thieves, if none is shown. Costs nothing where there is none.
  void show() noexcept {
    if (!lists_.empty() && thieves_) show_oldest();
  }
  /// The newest list that is not shown, else the shown one; 0 when there is none.
  [[nodiscard]] std::uint64_t take() noexcept;
  /// How many lists thieves have taken. Exact when take() has just answered 0.
  [[nodiscard]] std::uint64_t claimed() const noexcept { return claimed_; }

 private:
  void show_oldest() noexcept;
  [[nodiscard]] std::uint64_t load() const noexcept;

  fabric* net_ = nullptr;
  std::uint64_t* word_ = nullptr;
  location word_here_;
  std::deque<std::uint64_t> lists_;
  std::uint64_t claimed_ = 0;
  bool thieves_ = false;
  bool shown_ = false;  // the word was filled, and nobody has been seen to have emptied it
};

/// A thief's: takes LIST, which it has seen in the word at WORD, and brings the image of its first task in the same
/// chain where there are chains and it lies there too. False: the word says something else by now.
[[nodiscard]] bool claim_list(fabric& net, location word, std::uint64_t list, stolen& got);

}  // namespace tobi::tasks
