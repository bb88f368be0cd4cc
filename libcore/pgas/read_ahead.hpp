// SPDX-License-Identifier: Apache-2.0
// What a worker will read next: where it reads on behind what it has read, or in front of it, the cache fetches what
// follows before it is asked for, as a kernel does with files. A reader that goes through an array of another node then
// waits once per window, not once per checkout, and computes while the next window is on its way.
//
// What counts is a checkout that had to fetch, or to wait for what was on its way: a reader comes to it. A reader that
// goes up goes on where its next such checkout begins in, or just behind, what was fetched for it. One that goes down
// does where the next one ends in, or just in front of, that. A window is half of what the reader has read in a row, up
// to the largest one. So what has been fetched in vain where it stops, the rest of its window and the next one, is at
// most as much as it has read.
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

  /// At most MOST bytes are fetched ahead at a time for a reader, in multiples of UNIT; 0: none. UNIT and BLOCK are
  /// powers of two.
  read_ahead(std::uint64_t most, std::uint64_t unit, std::uint64_t block) noexcept
      : most_(most), unit_(unit), block_(block) {}

  [[nodiscard]] bool on() const noexcept { return most_ != 0; }

  /// A checkout that was not served at once has HERE when it is complete. Returns what to fetch then.
  range came_to(range here) noexcept {
    const range up = with_its_units(here);
    const range down = with_its_units(mirrored(here));
    if (reader* const r = find(up_, up); r != nullptr) return go_on(*r, up);
    if (reader* const r = find(down_, down); r != nullptr) return mirrored(go_on(*r, down));
    begin(up_, up);
    begin(down_, down);
    return {0, 0};
  }

 private:
  struct reader {
    std::uint64_t at = ~std::uint64_t{0};  // where it came to last
    std::uint64_t end = 0;                 // of what was fetched for it
    std::uint64_t begin = 0;               // of what it has read
    std::uint64_t last_use = 0;
  };
  static constexpr std::size_t most_readers = 8;  // a loop over a few ranges has one for each
  using readers = std::array<reader, most_readers>;

  // A reader that goes down goes up in the mirror, where offset 0 is at the top. Units and blocks are the same there.
  static constexpr std::uint64_t top = std::uint64_t{1} << 63;
  [[nodiscard]] static range mirrored(range r) noexcept { return {top - r.end, top - r.begin}; }

  // What was fetched for it ends with a unit.
  [[nodiscard]] range with_its_units(range here) const noexcept {
    return {here.begin, (here.end + unit_ - 1) / unit_ * unit_};
  }

  [[nodiscard]] static reader* find(readers& all, range here) noexcept {
    const auto goes_on = [here](const reader& one) { return one.at < here.begin && here.begin <= one.end; };
    const auto r = std::find_if(all.begin(), all.end(), goes_on);
    return r == all.end() ? nullptr : &*r;
  }

  // In place of the one that was not seen for the longest time.
  void begin(readers& all, range here) noexcept {
    const auto is_older = [](const reader& a, const reader& b) { return a.last_use < b.last_use; };
    *std::min_element(all.begin(), all.end(), is_older) = {here.begin, here.end, here.begin, ++uses_};
  }

  range go_on(reader& r, range here) noexcept {
    r.last_use = ++uses_;
    r.at = here.begin;
    r.end = std::max(r.end, here.end);
    const std::uint64_t window = std::min((here.end - r.begin) / 2, most_) / unit_ * unit_;
    // It may have met a part of its window that was on its way from another home.
    if (r.end - here.end >= window) return {0, 0};
    range next{r.end, std::min(r.end + window, top)};
    // Whole blocks: a block of which some is on its way is no hit.
    if (const std::uint64_t whole = next.end / block_ * block_; whole > next.begin) next.end = whole;
    r.end = next.end;
    return next;
  }

  readers up_;
  readers down_;  // in the mirror
  std::uint64_t most_;
  std::uint64_t unit_;
  std::uint64_t block_;
  std::uint64_t uses_ = 0;
};

}  // namespace tobi::pgas
