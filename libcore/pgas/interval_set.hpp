// SPDX-License-Identifier: Apache-2.0
// A set of bytes of one block, as sorted disjoint intervals that do not touch: which bytes of a cache block are up to
// date, and which are dirty (SC'23, section 4.3.1). Mostly there is one interval, so the first one is looked at first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tobi::pgas {

struct interval {
  std::uint32_t begin;
  std::uint32_t end;  // exclusive
  friend bool operator==(const interval&, const interval&) = default;
};

class interval_set {
 public:
  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }
  void clear() noexcept { parts_.clear(); }
  [[nodiscard]] auto begin() const noexcept { return parts_.begin(); }
  [[nodiscard]] auto end() const noexcept { return parts_.end(); }
  [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }

  /// Whether every byte of WHAT is in the set; an empty interval always is.
  [[nodiscard]] bool contains(interval what) const noexcept {
    if (what.begin >= what.end) return true;
    if (parts_.empty()) return false;
    if (parts_.size() == 1) return parts_[0].begin <= what.begin && what.end <= parts_[0].end;
    const auto at = first_ending_after(what.begin);
    return at != parts_.end() && at->begin <= what.begin && what.end <= at->end;
  }

  void add(interval what) {
    if (what.begin >= what.end) return;
    // The first one that WHAT touches or overlaps, and the first one behind it that it does not.
    auto from = std::lower_bound(parts_.begin(), parts_.end(), what.begin,
                                 [](const interval& i, std::uint32_t at) { return i.end < at; });
    auto to = from;
    while (to != parts_.end() && to->begin <= what.end) {
      what.begin = std::min(what.begin, to->begin);
      what.end = std::max(what.end, to->end);
      ++to;
    }
    if (from == to) {
      parts_.insert(from, what);
    } else {
      *from = what;
      parts_.erase(from + 1, to);
    }
  }

  void remove(interval what) {
    if (what.begin >= what.end) return;
    auto at = parts_.begin() + (first_ending_after(what.begin) - parts_.begin());
    if (at != parts_.end() && at->begin < what.begin) {
      const interval left{at->begin, what.begin};
      if (at->end > what.end) {  // WHAT lies inside: one becomes two
        at->begin = what.end;
        parts_.insert(at, left);
        return;
      }
      *at = left;
      ++at;
    }
    auto last = at;
    while (last != parts_.end() && last->end <= what.end) ++last;
    if (last != parts_.end() && last->begin < what.end) last->begin = what.end;
    parts_.erase(at, last);
  }

  /// Calls F(interval) for each part of WHAT that is not in the set, in order.
  template <class F>
  void for_each_gap(interval what, F f) const {
    std::uint32_t at = what.begin;
    for (auto i = first_ending_after(what.begin); i != parts_.end() && i->begin < what.end; ++i) {
      if (at < i->begin) f(interval{at, i->begin});
      at = std::max(at, i->end);
    }
    if (at < what.end) f(interval{at, what.end});
  }

 private:
  [[nodiscard]] std::vector<interval>::const_iterator first_ending_after(std::uint32_t at) const noexcept {
    return std::upper_bound(parts_.begin(), parts_.end(), at,
                            [](std::uint32_t a, const interval& i) { return a < i.end; });
  }

  std::vector<interval> parts_;
};

}  // namespace tobi::pgas
