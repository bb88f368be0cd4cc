// SPDX-License-Identifier: Apache-2.0
// What a worker will read next: where it reads on behind what it has read, the cache fetches what follows before
// it is asked for, as a kernel does with files. A reader that goes through an array of another node then waits once per
// window, not once per checkout, and computes while the next window is on its way.
//
// What counts is a checkout that had to fetch, or to wait for what was on its way: a reader comes to it. A reader whose
// next such checkout begins in, or just behind, what was fetched for it goes on. Its window is half of what it has read
// in a row, up to the largest one. So what has been fetched in vain where it stops, the rest of its window and the next
// one, is at most as much as it has read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tobi::pgas {

class read_ahead {
 public:
  /// Offsets into the view, exclusive at the end.
  struct range {
    std::uint64_t begin;
    std::uint64_t end;
    [[nodiscard]] bool empty() const noexcept { return begin >= end; }
  };

  /// At most MOST bytes are fetched ahead at a time for a reader, in multiples of UNIT; 0: none.
  read_ahead(std::uint64_t most, std::uint64_t unit, std::uint64_t block) noexcept
      : most_(most), unit_(unit), block_(block) {}

  [[nodiscard]] bool on() const noexcept { return most_ != 0; }

  /// A checkout that was not served at once has HERE when it is complete. Returns what to fetch then.
  range came_to(range here) noexcept {
    reader* r = &readers_[0];
    for (reader& one : readers_) {
      if (one.at < here.begin && here.begin <= one.end) {
        r = &one;
        break;
      }
      if (one.last_use < r->last_use) r = &one;
    }
    const bool goes_on = r->at < here.begin && here.begin <= r->end;
    r->last_use = ++uses_;
    r->at = here.begin;
    if (!goes_on) {
      r->begin = here.begin;
      r->end = here.end;
      return {0, 0};
    }
    r->end = std::max(r->end, here.end);
    const std::uint64_t window = std::min((here.end - r->begin) / 2, most_) / unit_ * unit_;
    // It may have met a part of its window that was on its way from another home.
    if (r->end - here.end >= window) return {0, 0};
    range next{r->end, r->end + window};
    // Whole blocks: a block of which some is on its way is no hit.
    if (const std::uint64_t whole = next.end / block_ * block_; whole > next.begin) next.end = whole;
    r->end = next.end;
    return next;
  }

 private:
  struct reader {
    std::uint64_t at = ~std::uint64_t{0};  // where it came to last
    std::uint64_t end = 0;                 // of what was fetched for it
    std::uint64_t begin = 0;               // of what it has read
    std::uint64_t last_use = 0;
  };
  static constexpr std::size_t most_readers = 8;  // a loop over a few ranges has one for each

  std::array<reader, most_readers> readers_;
  std::uint64_t most_;
  std::uint64_t unit_;
  std::uint64_t block_;
  std::uint64_t uses_ = 0;
};

}  // namespace tobi::pgas
