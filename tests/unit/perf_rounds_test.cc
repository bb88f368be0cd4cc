// SPDX-License-Identifier: Apache-2.0
// What tobi-perf says of the rounds of a row: intervals, and what disturbs.
#include <gtest/gtest.h>

#include <numeric>

#include "libcore/base/rng.hpp"
#include "tools/perf/rounds.hpp"

namespace {

using namespace tobi_perf;

std::vector<double> up_to(std::size_t n) {
  std::vector<double> all(n);
  std::iota(all.rbegin(), all.rend(), 1);
  return all;
}

TEST(interval, is_of_the_values_whose_places_the_binomial_distribution_gives) {
  EXPECT_FALSE(interval_of(up_to(5)));
  EXPECT_EQ(interval_of(up_to(6)), (interval{1, 6}));
  EXPECT_EQ(interval_of(up_to(8)), (interval{1, 8}));
  EXPECT_EQ(interval_of(up_to(9)), (interval{2, 8}));
  EXPECT_EQ(interval_of(up_to(12)), (interval{3, 10}));
  EXPECT_EQ(interval_of(up_to(24)), (interval{7, 18}));
}

TEST(interval, has_the_true_median_in_at_least_95_of_100_cases) {
  tobi::base::rng random(11);
  constexpr int cases = 4000;
  int within = 0;
  for (int i = 0; i < cases; ++i) {
    std::vector<double> values;  // skewed: most are small, and 1 is in the middle
    for (int k = 0; k < 12; ++k) values.push_back(0.5 / (1 - static_cast<double>(random.uniform(1000)) / 1000));
    const interval found = *interval_of(values);
    if (found[0] <= 1 && 1 <= found[1]) ++within;
  }
  EXPECT_GE(within, cases * 95 / 100);
  EXPECT_LE(within, cases * 98 / 100);
}

// 30 ms, nothing special.
round_taken quiet() {
  round_taken r;
  r.ns = 30'000'000;
  r.usual_ns = 10'000;
  r.longest_ns = 300'000;
  r.core_ns = {20'000, 21'000};
  return r;
}
std::string said_of(const round_taken& r) { return disturbance(r, {quiet(), r, quiet()}); }

TEST(disturbance, nothing) {
  round_taken r = quiet();
  EXPECT_EQ(said_of(r), "");
  r.core_ns = {21'500, 0};  // the other one was not measured
  r.without_core_ns[0] = 1'000'000;
  r.longest_ns = 1'005'000;
  EXPECT_EQ(said_of(r), "");
}

TEST(disturbance, others_on_a_core) {
  round_taken r = quiet();
  r.without_core_ns[1] = 15'000'000;
  EXPECT_EQ(said_of(r), "others had the core of rank 1 for 50 % of a round");
  r.without_core_ns[1] = 400'000;
  r.ns = 800'000;
  EXPECT_EQ(said_of(r), "");
}

TEST(disturbance, the_hypervisor) {
  round_taken r = quiet();
  r.of[0].stolen_ms = 10;
  EXPECT_EQ(said_of(r), "the hypervisor took 10 ms of 30 of rank 0");
}

TEST(disturbance, a_core_that_is_slower) {
  round_taken r = quiet();
  r.core_ns[1] = 30'000;
  EXPECT_EQ(said_of(r), "the core of rank 1 had 70 % of its speed");
}

TEST(disturbance, a_process_that_was_stopped) {
  round_taken r = quiet();
  r.longest_ns = 300'010'000;
  r.ns = 330'000'000;
  EXPECT_EQ(said_of(r), "it stood still for 300.0 ms");
  r.usual_ns = 200'000'000;  // samples are long
  EXPECT_EQ(said_of(r), "");
}

TEST(disturbance, a_line_that_moves_at_another_speed) {
  EXPECT_EQ(changed_between(60, 100),
            "a cache line went from core to core in 60 ns before it, and in 100 ns behind it");
  EXPECT_EQ(changed_between(80, 60), "");
  EXPECT_EQ(changed_between(std::nullopt, 60), "");
}

TEST(facts, grow) {
  const process_facts before = own_facts();
  double spent = 0;
  for (int i = 0; i < 100; ++i) spent += core_ns();
  EXPECT_GT(spent, 0);
  EXPECT_GT((own_facts() - before).cpu_ns, 0u);
}

}  // namespace
