// SPDX-License-Identifier: Apache-2.0
// What a worker keeps of other ranks is made when they are used.
#include "transports/by_rank.hpp"

#include <gtest/gtest.h>

#include <iterator>

namespace {

TEST(by_rank, makes_what_is_used_and_leaves_it_where_it_is) {
  tobi::transports::by_rank<int> table(1'000'000);
  EXPECT_EQ(table.find(999'999), nullptr);
  int& last = table.of(999'999);
  last = 7;
  for (int r = 0; r < 5000; ++r) table.of(r * 100) = r;
  EXPECT_EQ(&table.of(999'999), &last);
  EXPECT_EQ(*table.find(999'999), 7);
  EXPECT_EQ(*table.find(499'900), 4999);
  EXPECT_EQ(table.find(1), nullptr);
  EXPECT_EQ(std::distance(table.begin(), table.end()), 5001);
}

}  // namespace
