// SPDX-License-Identifier: Apache-2.0
// Ranges of workers and what is divided among them: the arithmetic, and the groups in which a thief goes outwards.
#include "tobi/detail/division.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "libcore/base/rng.hpp"
#include "libcore/sched/learned_shares.hpp"
#include "libcore/sched/numbering.hpp"
#include "libcore/sched/own_part.hpp"
#include "libcore/sched/surroundings.hpp"

namespace {

using tobi::detail::division;
using tobi::detail::loop_loads;
using tobi::detail::loop_seen;
using tobi::sched::learned_shares;
using tobi::sched::numbering;
using tobi::sched::numbers;
using tobi::sched::own_part;
using tobi::sched::reach;
using tobi::sched::surroundings;

division among(double first, double last) {
  division all;
  all.first = first;
  all.last = last;
  return all;
}
std::vector<std::uint32_t> borders(const division& of) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < of.groups; ++i) all.insert(all.end(), {of.around[i].first, of.around[i].last});
  return all;
}

TEST(division, a_range_is_of_the_workers_that_it_touches) {
  const auto is_of = [](double first, double last) {
    const division::group all = among(first, last).workers();
    return std::vector<std::uint32_t>{all.first, all.last};
  };
  EXPECT_EQ(is_of(0, 4), (std::vector<std::uint32_t>{0, 4}));
  EXPECT_EQ(is_of(1.5, 2), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(is_of(1.5, 2.1), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_FALSE(among(0, 0).spans());
  EXPECT_FALSE(among(3, 4).spans());
  EXPECT_TRUE(among(2.5, 3.5).spans());
  EXPECT_FALSE(among(2.95, 3.06).spans()) << "a narrow one is of one worker";
  EXPECT_EQ(among(2.95, 3.06).begins_at(), 3U) << "that where its middle lies";
  EXPECT_EQ(among(2.5, 3.5).begins_at(), 2U);
}

TEST(division, parts_lie_in_their_ranges_and_remember_them) {
  const division all = among(0, 8);
  EXPECT_EQ(all.groups, 0U);
  const division right = all.part(0.5, 1), last = right.part(0.75, 1);
  EXPECT_EQ(right.first, 4);
  EXPECT_EQ(right.last, 8);
  EXPECT_EQ(borders(right), (std::vector<std::uint32_t>{0, 8}));
  EXPECT_EQ(last.first, 7);
  EXPECT_EQ(borders(last), (std::vector<std::uint32_t>{4, 8, 0, 8}));
  // What was divided to no end is remembered once, and only so much of it.
  EXPECT_EQ(borders(all.part(0, 1).part(0, 1).part(0, 0.5)), (std::vector<std::uint32_t>{0, 8}));
  division deep = among(0, 1024);
  for (int i = 0; i < 9; ++i) deep = deep.part(0, 0.5);
  EXPECT_EQ(deep.groups, division::most_groups);
  EXPECT_EQ(deep.around[0].last, 4U);
}

// Divides WORK among the workers of RANGE as a loop does, down to single indices, and adds what each worker gets.
void divide(const division& range, const std::vector<double>& work, std::size_t lo, std::size_t hi,
            std::vector<double>& loads) {
  const auto of = [&](std::size_t from, std::size_t to) {
    return std::accumulate(work.begin() + static_cast<std::ptrdiff_t>(from),
                           work.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
  };
  if (!range.spans() || hi - lo == 1) {
    loads[std::min<std::size_t>(range.begins_at(), loads.size() - 1)] += of(lo, hi);
    return;
  }
  const std::size_t middle = lo + (hi - lo) / 2;
  const double share = of(lo, middle) / of(lo, hi);
  divide(range.part(0, share), work, lo, middle, loads);
  divide(range.part(share, 1), work, middle, hi, loads);
}

// Whatever the work is, a worker gets its share, but for the narrow pieces at its two borders.
TEST(division, every_worker_gets_its_share_of_random_work) {
  tobi::base::rng random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t workers = 1 + random.uniform(40), n = 4000;
    std::vector<double> work(n);
    for (double& each : work) {
      const auto x = static_cast<double>(random.uniform(1000));
      each = 1 + x * x * x / 1e7;
    }
    std::vector<double> loads(workers);
    divide(among(0, static_cast<double>(workers)), work, 0, n, loads);
    const double all = std::accumulate(work.begin(), work.end(), 0.0), share = all / static_cast<double>(workers);
    const double piece = *std::max_element(work.begin(), work.end());
    for (const double load : loads) {
      EXPECT_LE(load, share * (1 + division::narrow) + 2 * piece) << workers << " workers, round " << round;
      EXPECT_GE(load, share * (1 - division::narrow) - 2 * piece) << workers << " workers, round " << round;
    }
  }
}

TEST(loop_loads, what_is_added_is_there_and_spread_evenly) {
  loop_loads all;
  all.add(0, 0.25, 8);
  all.add(0.25, 1, 8);
  EXPECT_NEAR(all.total(), 16, 1e-4);
  EXPECT_NEAR(all.between(0, 0.25), 8, 1e-4);
  EXPECT_NEAR(all.between(0, 0.125), 4, 1e-4);
  EXPECT_NEAR(all.between(0.01, 0.02), 0.32, 1e-4) << "within a share";
  EXPECT_NEAR(all.between(1, 1), 0, 1e-9);
  EXPECT_NEAR(all.scaled_to(1).between(0, 0.25), 0.5, 1e-4);
}

TEST(loop_loads, the_largest_part_of_a_division_is_what_it_took) {
  loop_loads took;
  took.add(0, 0.25, 6);
  took.add(0.25, 1, 2);
  const loop_loads even = loop_loads::even(1);
  EXPECT_NEAR(even.largest_part(took, 4), 3, 1e-4) << "the first of four has three quarters";
  EXPECT_NEAR(even.largest_part(took, 2), 5.0 / 3, 1e-4);
  EXPECT_NEAR(even.largest_part(took, 3), 0.75 * 3 + 2.0 / 8 / 9 * 3, 1e-4) << "borders within a share";
  EXPECT_NEAR(took.largest_part(took, 4), 1, 1e-4);
  EXPECT_NEAR(even.largest_part(even, 32), 1, 1e-4);
  EXPECT_NEAR(even.largest_part(even, 5), 1, 1e-4);
}

loop_seen in_halves(double left, double right, bool alone = true) {
  loop_seen all;
  all.loads.add(0, 0.5, left);
  all.loads.add(0.5, 1, right);
  all.alone = alone;
  return all;
}
double left_of(const learned_shares& all) { return all.shares().between(0, 0.5) / all.shares().total(); }

TEST(learned_shares, three_executions_that_say_the_same_change_the_division) {
  learned_shares loop;
  loop.took(in_halves(400, 100), 4);
  loop.took(in_halves(440, 110), 4);
  EXPECT_NEAR(left_of(loop), 0.5, 1e-4) << "two say nothing";
  EXPECT_NEAR(loop.shares().total(), 550, 0.1) << "the last one's";
  loop.took(in_halves(440, 110), 4);
  EXPECT_NEAR(left_of(loop), 0.8, 1e-4);
  // One that was disturbed changes nothing.
  for (const double right : {100, 100, 100, 900, 100}) loop.took(in_halves(400, right), 4);
  EXPECT_NEAR(left_of(loop), 0.8, 1e-4);
  EXPECT_NEAR(loop.shares().total(), 500, 0.1);
}

TEST(learned_shares, two_fifths_too_much_are_no_reason_to_move) {
  for (const double workers : {2, 4, 8}) {
    learned_shares loop, other;
    for (int i = 0; i < 5; ++i) {
      loop.took(in_halves(69, 31), workers);
      other.took(in_halves(71, 29), workers);
    }
    EXPECT_NEAR(left_of(loop), 0.5, 1e-4);
    EXPECT_NEAR(left_of(other), 0.71, 1e-4);
  }
}

void take_three(learned_shares& loop, const loop_seen& seen) {
  for (int i = 0; i < 3; ++i) loop.took(seen, 2);
}

// What moves has its data elsewhere, and may take longer there.
TEST(learned_shares, a_move_that_was_not_better_is_taken_back) {
  learned_shares loop;
  take_three(loop, in_halves(80, 20));
  EXPECT_NEAR(left_of(loop), 0.8, 1e-4);
  take_three(loop, in_halves(130, 20));  // 75 for each of the two, where it was 80
  EXPECT_NEAR(left_of(loop), 0.5, 1e-4);
  take_three(loop, in_halves(85, 15));
  EXPECT_NEAR(left_of(loop), 0.5, 1e-4) << "1.7 times its share, which is not enough any more";
  take_three(loop, in_halves(95, 5));
  EXPECT_NEAR(left_of(loop), 0.95, 0.01);
  take_three(loop, in_halves(95, 5));
  take_three(loop, in_halves(300, 5));
  EXPECT_NEAR(left_of(loop), 0.95, 0.01) << "once it was found better it stays";
}

TEST(learned_shares, a_loop_that_was_small_and_is_large_now_is_known_to_be_large) {
  for (const bool alone : {true, false}) {
    learned_shares loop;
    take_three(loop, in_halves(10, 10));
    EXPECT_NEAR(loop.shares().total(), 20, 0.1);
    loop.took(in_halves(5000, 5000, alone), 2);
    EXPECT_NEAR(loop.shares().total(), 10000, 10);
    loop.took(in_halves(10, 10, alone), 2);
    EXPECT_NEAR(loop.shares().total(), 20, 0.1);
  }
}

TEST(learned_shares, an_execution_with_steals_says_how_much_it_was_alone) {
  learned_shares loop;
  for (const double left : {900, 500, 700}) loop.took(in_halves(left, 100, false), 2);
  EXPECT_NEAR(left_of(loop), 0.5, 1e-4);
  EXPECT_NEAR(loop.shares().total(), 800, 0.1) << "the last one's";
  take_three(loop, in_halves(900, 100));
  EXPECT_NEAR(left_of(loop), 0.9, 1e-4);
  loop.took(in_halves(100, 100, false), 2);
  EXPECT_NEAR(left_of(loop), 0.9, 1e-4);
}

TEST(learned_shares, an_execution_without_time_says_nothing) {
  learned_shares loop;
  loop.took(in_halves(0, 1), 2);
  for (int i = 0; i < 2; ++i) {
    loop.took(in_halves(1, 0), 2);
    EXPECT_NEAR(left_of(loop), 0.5, 1e-4);
    EXPECT_NEAR(loop.shares().total(), 1, 1e-4);
  }
}

constexpr auto serves_none = [](int) { return false; };

TEST(numbering, ranks_in_order_are_numbers) {
  const tobi::base::per_rank<int> nodes(std::vector<int>{0, 0, 1, 1, 1});
  const numbering all(nodes, serves_none);
  EXPECT_EQ(all.count(), 5U);
  for (int rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(all.number_of(rank), static_cast<std::uint32_t>(rank));
    EXPECT_EQ(all.rank_of(static_cast<std::uint32_t>(rank)), rank);
  }
  EXPECT_EQ(all.rank_of(5), 4) << "behind the last one";
  EXPECT_EQ(all.node_of(3, nodes).first, 2U);
  EXPECT_EQ(all.node_of(3, nodes).last, 5U);
}

TEST(numbering, a_nodes_workers_are_in_a_row_and_servers_have_no_number) {
  const tobi::base::per_rank<int> nodes(std::vector<int>{0, 1, 0, 1, 0, 1});
  const numbering all(nodes, [](int rank) { return rank == 2; });
  EXPECT_EQ(all.count(), 5U);
  std::vector<int> ranks;
  for (std::uint32_t i = 0; i < all.count(); ++i) {
    ranks.push_back(all.rank_of(i));
    EXPECT_EQ(all.number_of(all.rank_of(i)), i);
  }
  EXPECT_EQ(ranks, (std::vector<int>{0, 4, 1, 3, 5}));
  EXPECT_EQ(all.number_of(2), 5U);
  EXPECT_EQ(all.node_of(4, nodes).first, 0U);
  EXPECT_EQ(all.node_of(4, nodes).last, 2U);
}

std::vector<std::uint32_t> groups_of(const surroundings& all) {
  std::vector<std::uint32_t> found{all.near, all.far};
  for (unsigned i = 0; i < all.near + all.far; ++i) {
    found.insert(found.end(), {all.groups[i].first, all.groups[i].last});
  }
  return found;
}

TEST(surroundings, a_thief_goes_outwards_within_its_node_and_then_beyond) {
  using list = std::vector<std::uint32_t>;
  const division own = among(0, 16).part(0.5, 1).part(0.5, 1).part(0.5, 1).part(0.5, 1);
  ASSERT_EQ(borders(own), (list{14, 16, 12, 16, 8, 16, 0, 16}));
  EXPECT_EQ(groups_of(surroundings::of_share(own, {0, 16}, {0, 16})), (list{3, 0, 14, 16, 12, 16, 8, 16}));
  EXPECT_EQ(groups_of(surroundings::of_share(own, {12, 16}, {0, 16})), (list{1, 2, 14, 16, 12, 16, 8, 16}));
  EXPECT_EQ(groups_of(surroundings::of_share(own, {15, 16}, {0, 16})), (list{0, 4, 15, 16, 14, 16, 12, 16, 8, 16}));
  EXPECT_EQ(groups_of(surroundings::of_node({12, 16}, {0, 16})), (list{0, 1, 12, 16}));
  EXPECT_EQ(groups_of(surroundings::of_node({0, 16}, {0, 16})), (list{0, 0}));
  EXPECT_EQ(groups_of(surroundings::of_share(among(0, 2).part(0.5, 1), {0, 2}, {0, 2})), (list{0, 0}));
}

constexpr std::uint64_t ms = 1'000'000;

// In which group a worker is so many tenths of a millisecond after a part of 5 ms; 99 where everybody is open.
unsigned group_at(own_part& mine, std::uint64_t tenths) {
  const std::uint64_t now = 1000 * ms + tenths * ms / 10;
  return mine.reach([=] { return now; }) == reach::all ? 99 : mine.group();
}

TEST(own_part, groups_of_a_node_open_soon_and_those_beyond_by_halves) {
  own_part mine;
  mine.begins(995 * ms, 2, 3);
  mine.ends(1000 * ms);
  // 0.625 ms for each of the near ones, then 20 ms: 10, 5 and 5.
  EXPECT_EQ(group_at(mine, 1), 0U);
  EXPECT_EQ(group_at(mine, 6), 0U);
  EXPECT_EQ(group_at(mine, 7), 1U);
  EXPECT_EQ(group_at(mine, 12), 1U);
  EXPECT_EQ(group_at(mine, 13), 2U);
  EXPECT_EQ(group_at(mine, 112), 2U);
  EXPECT_EQ(group_at(mine, 113), 3U);
  EXPECT_EQ(group_at(mine, 162), 3U);
  EXPECT_EQ(group_at(mine, 163), 4U);
  EXPECT_EQ(group_at(mine, 212), 4U);
  EXPECT_EQ(group_at(mine, 213), 99U);
}

TEST(own_part, one_node_waits_for_its_groups_alone) {
  own_part mine;
  mine.begins(900 * ms, 1, 0);
  mine.ends(1000 * ms);
  EXPECT_EQ(group_at(mine, 9), 0U) << "1 ms at most";
  EXPECT_EQ(group_at(mine, 11), 99U);
  mine.begins(995 * ms, 0, 0);
  mine.ends(1000 * ms);
  EXPECT_EQ(group_at(mine, 0), 99U);
}

// Another part, with fewer groups, has begun while this worker still waits.
TEST(own_part, a_group_is_one_of_those_that_there_are) {
  own_part mine;
  mine.begins(995 * ms, 0, 4);
  mine.ends(1000 * ms);
  mine.begins(1000 * ms, 0, 1);
  EXPECT_EQ(group_at(mine, 190), 0U);
}

}  // namespace
