// SPDX-License-Identifier: Apache-2.0
// tobi-perf's operations under a given load: when they are due, and what a latency counts from.
#include <gtest/gtest.h>

#include <numeric>

#include "tools/perf/open_loop.hpp"

namespace {

using namespace tobi_perf;

TEST(schedule, is_even) {
  const schedule s(100, 5);
  EXPECT_EQ(s.due_ns(0), 0);
  EXPECT_EQ(s.due_ns(4), 400);
  EXPECT_EQ(s.due_by(-1), 1u);
  EXPECT_EQ(s.due_by(0), 1u);
  EXPECT_EQ(s.due_by(99.9), 1u);
  EXPECT_EQ(s.due_by(100), 2u);
  EXPECT_EQ(s.due_by(400), 5u);
  EXPECT_EQ(s.due_by(1e30), 5u);
  EXPECT_EQ(schedule(0, 7).due_by(0), 7u);
}

// A fabric with a clock of its own: a call takes 10 ns per operation, and stands still once.
struct fabric {
  double now = 0;
  double stands_still_at = 1e30;
  std::uint64_t most_at_once = 0;

  std::vector<double> follow(const schedule& plan, std::uint64_t together) {
    std::vector<double> ns;
    const auto some = [&](std::uint64_t count) {
      most_at_once = std::max(most_at_once, count);
      if (now >= stands_still_at) {
        now += 10'000;
        stands_still_at = 1e30;
      }
      now += 10 * static_cast<double>(count);
      return true;
    };
    EXPECT_TRUE(tobi_perf::follow(
        plan, together, [&] { return now; }, some, [&] { now += 1; }, ns));
    return ns;
  }
};

TEST(follow, a_quiet_fabric_has_the_time_of_one_operation) {
  fabric f;
  const std::vector<double> ns = f.follow(schedule(100, 1000), 64);
  ASSERT_EQ(ns.size(), 1000u);
  for (const double one : ns) EXPECT_EQ(one, 10);
  EXPECT_EQ(f.most_at_once, 1u);
}

// A loop in which each waits for the one before it would have one sample of 10010 ns here.
TEST(follow, what_waits_behind_a_standstill_counts) {
  fabric f;
  f.stands_still_at = 50'000;
  const std::vector<double> ns = f.follow(schedule(100, 1000), 64);
  ASSERT_EQ(ns.size(), 1000u);
  const auto late = std::count_if(ns.begin(), ns.end(), [](double one) { return one > 100; });
  EXPECT_GE(late, 100);  // 10000 ns have a hundred of them
  EXPECT_LE(late, 125);
  EXPECT_EQ(ns[500], 10'010);
  EXPECT_EQ(ns[501], 10'010 + 640 - 100);  // with those that were due meanwhile
  EXPECT_EQ(f.most_at_once, 64u);
  EXPECT_EQ(ns.back(), 10);
}

TEST(follow, a_load_above_the_most_makes_latencies_grow) {
  fabric f;
  const std::vector<double> ns = f.follow(schedule(5, 1000), 64);
  EXPECT_GT(ns[500], ns[100]);
  EXPECT_GT(ns[999], ns[500]);
  EXPECT_NEAR(ns[999], 1000 * 10 - 999 * 5, 1);
}

TEST(follow, ends_where_an_operation_does_not) {
  std::vector<double> ns;
  EXPECT_FALSE(follow(
      schedule(0, 3), 1, [] { return 0.0; }, [](std::uint64_t) { return false; }, [] {}, ns));
  EXPECT_TRUE(ns.empty());
}

TEST(load, is_a_share_or_a_rate) {
  EXPECT_EQ(parse_load("50%")->interval_ns(1e6), 2000);
  EXPECT_EQ(parse_load("20k")->interval_ns(1e6), 50'000);
  EXPECT_EQ(parse_load("1.5M")->interval_ns(0), 1e9 / 1.5e6);
  EXPECT_EQ(parse_load("1000")->interval_ns(0), 1e6);
  for (const char* wrong : {"", "0", "0%", "-1", "x", "5x", "nan", "inf", "%", "1e400", "10 %"}) {
    EXPECT_FALSE(parse_load(wrong)) << wrong;
  }
}

}  // namespace
