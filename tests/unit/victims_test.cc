// Whom a thief chooses.
#include "libcore/task/victims.hpp"

#include <gtest/gtest.h>

#include <map>

namespace {

using tobi::tasks::victims;

std::map<int, int> choices(victims& v, int n) {
  std::map<int, int> count;
  for (int i = 0; i < n; ++i) ++count[v.next()];
  return count;
}

TEST(victims, a_lone_worker_has_none) { EXPECT_TRUE(victims(0, {0}, 1).none()); }

TEST(victims, are_uniform_within_a_level_and_never_the_thief) {
  victims v(1, {0, 0, 0, 0}, 7);
  const auto count = choices(v, 30000);
  EXPECT_EQ(count.size(), 3u);
  EXPECT_EQ(count.count(1), 0u);
  for (const auto& [rank, n] : count) EXPECT_NEAR(n, 10000, 500) << rank;
}

TEST(victims, half_of_the_choices_fall_on_the_nearest_level_and_half_of_the_rest_on_the_next) {
  victims v(0, {0, 0, 1, 2, 2}, 3);
  auto count = choices(v, 40000);
  EXPECT_NEAR(count[1], 20000, 600);
  EXPECT_NEAR(count[2], 10000, 500);
  EXPECT_NEAR(count[3] + count[4], 10000, 500);
}

TEST(victims, an_empty_level_is_passed_over) {
  victims v(0, {0, 2, 2}, 5);
  const auto count = choices(v, 1000);
  EXPECT_EQ(count.size(), 2u);
}

TEST(victims, a_rank_at_a_negative_level_is_none) {
  victims v(0, {0, -1, 1, -1, 1}, 11);
  const auto count = choices(v, 10000);
  EXPECT_EQ(count.size(), 2u);
  EXPECT_EQ(count.count(1), 0u);
  EXPECT_EQ(count.count(3), 0u);
  EXPECT_TRUE(victims(2, {-1, -1, -1}, 1).none()) << "a server chooses nobody";
}

}  // namespace
