// SPDX-License-Identifier: Apache-2.0
// The list of those that wait for one record: each is met once, and how many steals, one behind the other, it takes
// until all of them go on.
#include "libcore/deque/waiters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace {

using tobi::deque::links_before;
using tobi::deque::waiter_links;

struct waiters {
  std::vector<waiter_links> images = std::vector<waiter_links>(1);  // 0 is nobody
  std::uint64_t head = 0;
  int reads = 0;

  void enlist() {
    reads = 0;
    images.push_back(links_before(head, [&](std::uint64_t of, waiter_links& links) {
      ++reads;
      links = images[of / 16];
      return true;
    }));
    head = 16 * (images.size() - 1);
  }
  // Counts all of LIST in SEEN; returns how many must be taken one after the other until its last one goes on.
  int generations(std::uint64_t list, std::vector<int>& seen) const {
    const std::uint64_t first = list & ~tobi::deque::one_tree;
    ++seen[first / 16];
    int most = 0;
    for (const std::uint64_t rest : images[first / 16].rest(list)) {
      if (rest != 0) most = std::max(most, generations(rest, seen));
    }
    return most + 1;
  }
};

int log2_of(std::size_t n) { return static_cast<int>(std::bit_width(n)) - 1; }

TEST(waiters, each_is_met_once_and_soon) {
  waiters all;
  for (std::size_t n = 1; n <= 3000; ++n) {
    all.enlist();
    ASSERT_LE(all.reads, 2);
    std::vector<int> seen(n + 1);
    const int generations = all.generations(all.head, seen);
    ASSERT_EQ(std::count(seen.begin() + 1, seen.end(), 1), static_cast<std::ptrdiff_t>(n));
    ASSERT_LE(generations, 2 * log2_of(n) + 1) << n;
    if (n == 32) {
      EXPECT_LE(generations, 6);
    }
  }
}

// An image whose memory holds something else by now cannot be followed; its reader's compare-and-swap fails anyway.
TEST(waiters, what_cannot_be_read_is_not_followed) {
  waiters all;
  all.enlist();
  all.enlist();  // two trees of one
  int reads = 0;
  links_before(all.head, [&](std::uint64_t, waiter_links&) {
    ++reads;
    return false;
  });
  EXPECT_EQ(reads, 1);
  reads = 0;
  links_before(all.head, [&](std::uint64_t of, waiter_links& links) {
    links = all.images[of / 16];
    return ++reads == 1;
  });
  EXPECT_EQ(reads, 2);
}

}  // namespace
