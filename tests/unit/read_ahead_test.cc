// SPDX-License-Identifier: Apache-2.0
// What is fetched ahead of readers that go up, go down, and do both.
#include "libcore/pgas/read_ahead.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

using tobi::pgas::read_ahead;
using range = read_ahead::range;

constexpr std::uint64_t unit = 4;
constexpr std::uint64_t block = 16;
constexpr std::uint64_t most = 128;
constexpr std::uint64_t length = 1024;  // of an array
constexpr std::uint64_t piece = 2 * unit;

// An array from BEGIN on, read in pieces from one end on by a cache that keeps all: what is fetched ahead. Of what was
// fetched only the piece that meets it first is waited for.
class sweep {
 public:
  sweep(std::uint64_t begin, bool down) : begin_(begin), down_(down) {}

  [[nodiscard]] bool over() const noexcept { return done_ == length; }
  void go_on(read_ahead& ahead) {
    const std::uint64_t to = done_ + piece;
    if (done_ >= awaited_) {
      ++misses;
      awaited_ = std::max(fetched_, to);
      const range next = ahead.came_to(here(done_, to));
      if (!next.empty()) {
        windows.push_back(next);
        fetched_ = std::max(fetched_, down_ ? begin_ + length - next.begin : next.end - begin_);
      }
    }
    done_ = to;
  }
  void run(read_ahead& ahead) {
    while (!over()) go_on(ahead);
  }

  std::vector<range> windows;
  int misses = 0;

 private:
  // From the end where it began.
  [[nodiscard]] range here(std::uint64_t from, std::uint64_t to) const noexcept {
    return down_ ? range{begin_ + length - to, begin_ + length - from} : range{begin_ + from, begin_ + to};
  }
  std::uint64_t begin_;
  bool down_;
  std::uint64_t done_ = 0;
  std::uint64_t awaited_ = 0;
  std::uint64_t fetched_ = 0;
};

std::vector<range> windows_of(std::uint64_t begin, bool down) {
  read_ahead ahead(most, unit, block);
  sweep s(begin, down);
  s.run(ahead);
  return s.windows;
}

bool equal(const std::vector<range>& a, const std::vector<range>& b) {
  const auto same = [](range x, range y) { return x.begin == y.begin && x.end == y.end; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

TEST(read_ahead, windows_of_a_reader_that_goes_down_are_those_of_one_that_goes_up_in_a_mirror) {
  const std::uint64_t begin = 4 * length;
  const std::vector<range> up = windows_of(begin, false);
  std::vector<range> down = windows_of(begin, true);
  for (range& r : down) r = {2 * begin + length - r.end, 2 * begin + length - r.begin};
  EXPECT_GT(up.size(), length / most);
  EXPECT_LT(up.size(), length / most + 12);
  EXPECT_TRUE(equal(up, down));
}

TEST(read_ahead, windows_are_whole_units_and_blocks_and_half_of_what_was_read) {
  for (const bool down : {false, true}) {
    std::uint64_t read = 2 * piece;  // by the checkout that the window follows, at least
    for (const range& r : windows_of(4 * length, down)) {
      EXPECT_EQ(r.begin % unit, 0);
      EXPECT_EQ(r.end % unit, 0);
      EXPECT_LE(r.end - r.begin, std::min(most, read));
      EXPECT_TRUE(r.end - r.begin <= block || (down ? r.begin : r.end) % block == 0);
      read += r.end - r.begin;
    }
  }
}

TEST(read_ahead, nothing_is_below_the_first_byte) {
  const std::vector<range> down = windows_of(0, true);
  ASSERT_FALSE(down.empty());
  EXPECT_EQ(down.back().begin, 0);
  for (const range& r : down) EXPECT_LT(r.end, length);
  read_ahead ahead(most, unit, block);
  EXPECT_TRUE(ahead.came_to({piece, 40 * unit}).empty());
  EXPECT_EQ(ahead.came_to({1, piece}).end, 0);
}

TEST(read_ahead, parts_of_units_are_whole_ones) {
  read_ahead ahead(most, unit, block);
  EXPECT_TRUE(ahead.came_to({length + 1, length + 64}).empty());
  EXPECT_EQ(ahead.came_to({length - 63, length}).end, length - 64);
  EXPECT_TRUE(ahead.came_to({3 * length, 3 * length + 63}).empty());
  EXPECT_EQ(ahead.came_to({3 * length + 64, 3 * length + 127}).begin, 3 * length + 128);
}

// As a merge that takes from both ends does.
TEST(read_ahead, readers_that_go_up_and_down_by_turns_get_what_each_gets_alone) {
  read_ahead ahead(most, unit, block);
  std::vector<sweep> all;
  std::vector<std::vector<range>> alone;
  for (std::uint64_t i = 0; i < 8; ++i) {
    all.emplace_back(2 * i * length, i % 2 != 0);
    alone.push_back(windows_of(2 * i * length, i % 2 != 0));
  }
  while (!all.front().over()) {
    for (sweep& s : all) s.go_on(ahead);
  }
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(equal(all[i].windows, alone[i])) << i;
}

TEST(read_ahead, an_array_that_is_read_again_is_read_in_the_same_direction) {
  for (const bool down : {false, true}) {
    read_ahead ahead(most, unit, block);
    const std::vector<range> first = windows_of(length, down);
    ASSERT_FALSE(first.empty());
    for (int i = 0; i < 3; ++i) {
      sweep s(length, down);
      s.run(ahead);
      EXPECT_TRUE(equal(s.windows, first)) << i;
    }
  }
}

// So few checkouts that all of the readers that they were are known still.
TEST(read_ahead, a_short_one_too) {
  read_ahead ahead(most, unit, block);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(ahead.came_to({7 * block, 8 * block}).empty());
    const range next = ahead.came_to({6 * block, 7 * block});
    EXPECT_EQ(next.begin, 5 * block);
    EXPECT_EQ(next.end, 6 * block);
  }
}

TEST(read_ahead, nothing_is_fetched_ahead_of_jumps) {
  read_ahead ahead(most, unit, block);
  for (std::uint64_t at = 0; at < length; at += 2 * piece) EXPECT_TRUE(ahead.came_to({at, at + piece}).empty());
  for (std::uint64_t at = 3 * length; at > 2 * length; at -= 2 * piece) {
    EXPECT_TRUE(ahead.came_to({at, at + piece}).empty());
  }
}

}  // namespace
