// SPDX-License-Identifier: Apache-2.0
// Whom a thief chooses.
#include "libcore/sched/victims.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using tobi::base::victim_policy;
using tobi::sched::victims;

const victims::rules near{};
const victims::rules uniform{victim_policy::uniform, 0};

std::map<int, int> choices(victims& v, int n) {
  std::map<int, int> count;
  for (int i = 0; i < n; ++i) ++count[v.next()];
  return count;
}

TEST(victims, a_lone_worker_has_none) { EXPECT_TRUE(victims(0, {0}, 1, near).none()); }

TEST(victims, are_uniform_within_a_level_and_never_the_thief) {
  victims v(1, {0, 0, 0, 0}, 7, near);
  const auto count = choices(v, 30000);
  EXPECT_EQ(count.size(), 3u);
  EXPECT_EQ(count.count(1), 0u);
  for (const auto& [rank, n] : count) EXPECT_NEAR(n, 10000, 500) << rank;
}

TEST(victims, half_of_the_choices_fall_on_the_nearest_level_and_half_of_the_rest_on_the_next) {
  victims v(0, {0, 0, 1, 2, 2}, 3, near);
  auto count = choices(v, 40000);
  EXPECT_NEAR(count[1], 20000, 600);
  EXPECT_NEAR(count[2], 10000, 500);
  EXPECT_NEAR(count[3] + count[4], 10000, 500);
}

TEST(victims, an_empty_level_is_passed_over) {
  victims v(0, {0, 2, 2}, 5, near);
  const auto count = choices(v, 1000);
  EXPECT_EQ(count.size(), 2u);
}

TEST(victims, a_rank_at_a_negative_level_is_none) {
  victims v(0, {0, -1, 1, -1, 1}, 11, near);
  const auto count = choices(v, 10000);
  EXPECT_EQ(count.size(), 2u);
  EXPECT_EQ(count.count(1), 0u);
  EXPECT_EQ(count.count(3), 0u);
  EXPECT_TRUE(victims(2, {-1, -1, -1}, 1, near).none()) << "a server chooses nobody";
}

// Pearson's statistic over the K ranks of COUNT, whose choices are to be equally likely: K - 1 on the average, and more
// than K - 1 + 5 sqrt(2 (K - 1)) once in some hundred thousand tests. The seeds are fixed.
void expect_alike(const std::map<int, int>& count, std::size_t k) {
  ASSERT_EQ(count.size(), k);
  double all = 0;
  for (const auto& [rank, n] : count) all += n;
  const double expected = all / static_cast<double>(k);
  double chi_square = 0;
  for (const auto& [rank, n] : count) chi_square += (n - expected) * (n - expected) / expected;
  const auto freedom = static_cast<double>(k - 1);
  EXPECT_LT(chi_square, freedom + 5 * std::sqrt(2 * freedom));
}

TEST(victims, uniform_choices_fall_on_all_alike_at_whatever_distance) {
  std::vector<int> distance(40);
  for (std::size_t r = 0; r < distance.size(); ++r) distance[r] = static_cast<int>(r % 4);
  distance[7] = distance[8] = -1;
  victims v(3, distance, 13, uniform);
  const auto count = choices(v, 200'000);
  EXPECT_EQ(count.count(3), 0u);
  EXPECT_EQ(count.count(7) + count.count(8), 0u);
  expect_alike(count, 37);
}

TEST(victims, uniform_choices_within_a_single_level) {
  victims all_far(0, std::vector<int>(9, victims::far_level), 17, uniform);
  expect_alike(choices(all_far, 80'000), 8);
  victims all_near(0, std::vector<int>(9, 0), 17, uniform);
  expect_alike(choices(all_near, 80'000), 8);
}

// 4 ranks are on this node, and 100 are not.
std::vector<int> hundred_far() {
  std::vector<int> distance(104, victims::far_level);
  std::fill_n(distance.begin(), 4, 1);
  return distance;
}
bool is_far(int rank) { return rank >= 4; }

class bounded_victims : public testing::TestWithParam<victim_policy> {};

TEST_P(bounded_victims, a_set_of_far_ranks_is_kept_to_and_near_ones_are_no_part_of_it) {
  victims v(0, hundred_far(), 19, {GetParam(), 5});
  std::set<int> far;
  std::set<int> close;
  for (int i = 0; i < 100'000; ++i) {
    const int rank = v.next();
    (is_far(rank) ? far : close).insert(rank);
  }
  EXPECT_EQ(far.size(), 5u) << "nothing was in vain: nobody is exchanged";
  EXPECT_EQ(close.size(), 3u);
}

// Between two exchanges no more ranks are met than the set has, and each exchange brings one.
TEST_P(bounded_victims, one_member_is_exchanged_after_so_many_attempts_in_vain) {
  constexpr std::size_t members = 5;
  const std::size_t patience = std::max(victims::attempts_at_least, members * victims::attempts_per_member);
  victims v(0, hundred_far(), 23, {GetParam(), members});
  std::set<int> before;
  for (int exchanges = 0; exchanges < 50; ++exchanges) {
    std::set<int> now;
    for (std::size_t attempts = 0; attempts < patience;) {
      const int rank = v.next();
      v.in_vain();
      if (!is_far(rank)) continue;
      ++attempts;
      now.insert(rank);
    }
    // Some hundred attempts meet each of five.
    ASSERT_EQ(now.size(), members);
    std::set<int> both = before;
    both.merge(std::set(now));
    if (!before.empty()) {
      ASSERT_EQ(both.size(), members + 1);
    }
    before = now;
  }
}

TEST_P(bounded_victims, every_far_rank_is_asked_in_the_end_and_all_alike) {
  victims v(0, hundred_far(), 29, {GetParam(), 3});
  std::map<int, int> members;  // how often a rank was in the set, looked at after each exchange
  for (int exchanges = 0; exchanges < 20'000; ++exchanges) {
    std::set<int> now;
    for (std::size_t attempts = 0; attempts < victims::attempts_at_least;) {
      const int rank = v.next();
      v.in_vain();
      if (!is_far(rank)) continue;
      ++attempts;
      now.insert(rank);
    }
    for (const int rank : now) ++members[rank];
  }
  ASSERT_EQ(members.size(), 100u);
  // Each stays for some exchanges, so counts scatter more than independent ones would.
  for (const auto& [rank, n] : members) EXPECT_NEAR(n, 600, 250) << rank;
}

TEST_P(bounded_victims, a_set_that_holds_all_is_no_set) {
  for (const std::size_t most : {100u, 101u, 0u}) {
    victims v(0, hundred_far(), 31, {GetParam(), most});
    std::set<int> far;
    for (int i = 0; i < 20'000; ++i) {
      if (const int rank = v.next(); is_far(rank)) far.insert(rank);
    }
    EXPECT_EQ(far.size(), 100u) << most;
  }
}

INSTANTIATE_TEST_SUITE_P(policies, bounded_victims, testing::Values(victim_policy::near, victim_policy::uniform),
                         [](const auto& policy) {
                           return std::string(policy.param == victim_policy::near ? "near" : "uniform");
                         });

TEST(victims, with_uniform_the_far_part_is_asked_as_often_as_it_has_members) {
  victims v(0, hundred_far(), 37, {victim_policy::uniform, 5});
  int far = 0;
  for (int i = 0; i < 103'000; ++i) far += is_far(v.next()) ? 1 : 0;
  EXPECT_NEAR(far, 100'000, 300);
}

TEST(victims, workers_keep_to_sets_of_their_own) {
  std::set<std::set<int>> sets;
  for (std::uint64_t rank = 0; rank < 20; ++rank) {
    victims v(0, hundred_far(), rank + 1, {victim_policy::near, 3});
    std::set<int> far;
    for (int i = 0; i < 1000; ++i) {
      if (const int chosen = v.next(); is_far(chosen)) far.insert(chosen);
    }
    sets.insert(far);
  }
  EXPECT_GE(sets.size(), 19u);
}

}  // namespace
