// SPDX-License-Identifier: Apache-2.0
// Which one was used least recently: a doubly linked list over small numbers (SC'23, section 4.3.1). The numbers are
// those of the cache's slots; a list knows nothing else of them.
#pragma once

#include <cstdint>
#include <vector>

namespace tobi::pgas {

class lru_list {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Members are FIRST .. FIRST + COUNT - 1, in this order: FIRST is the least recently used.
  lru_list(std::uint32_t first, std::uint32_t count) : first_(first), links_(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      links_[i] = {i == 0 ? none : first + i - 1, i + 1 == count ? none : first + i + 1};
    }
    if (count != 0) {
      head_ = first;
      tail_ = first + count - 1;
    }
  }

  /// WHO is now the most recently used.
  void touch(std::uint32_t who) noexcept {
    if (who == tail_) return;
    link& l = of(who);
    (l.previous == none ? head_ : of(l.previous).next) = l.next;
    of(l.next).previous = l.previous;  // not the tail, so there is a next one
    l = {tail_, none};
    of(tail_).next = who;
    tail_ = who;
  }

  /// The least recently used one for which FREE(it) is true, or `none`.
  template <class F>
  [[nodiscard]] std::uint32_t find(F free) const {
    for (std::uint32_t i = head_; i != none; i = of(i).next) {
      if (free(i)) return i;
    }
    return none;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(links_.size()); }

 private:
  struct link {
    std::uint32_t previous;
    std::uint32_t next;
  };
  [[nodiscard]] link& of(std::uint32_t who) noexcept { return links_[who - first_]; }
  [[nodiscard]] const link& of(std::uint32_t who) const noexcept { return links_[who - first_]; }

  std::uint32_t first_;
  std::uint32_t head_ = none;
  std::uint32_t tail_ = none;
  std::vector<link> links_;
};

}  // namespace tobi::pgas
