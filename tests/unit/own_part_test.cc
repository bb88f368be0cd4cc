// SPDX-License-Identifier: Apache-2.0
// How long a worker keeps from other nodes, from given times.
#include "libcore/sched/own_part.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using tobi::sched::own_part;
using tobi::sched::reach;

constexpr std::uint64_t ms = 1'000'000;

// For how long a worker keeps from the parts of others after one of 5 ms, to a tenth of a millisecond.
std::uint64_t wait_after_5_ms(own_part& mine) {
  constexpr std::uint64_t end = 1000 * ms;
  mine.begins(end - 5 * ms);
  mine.ends(end);
  std::uint64_t now = end;
  while (mine.reach([&] { return now; }) != reach::all) now += ms / 10;
  return now - end;
}

// Of another node: COMPUTED and WAITED milliseconds.
void does(own_part& mine, std::uint64_t computed, std::uint64_t waited) {
  constexpr std::uint64_t begin = 2000 * ms, before = 7 * ms;
  EXPECT_FALSE(mine.has_taken());
  mine.took(begin, before);
  EXPECT_TRUE(mine.has_taken());
  mine.did(begin + (computed + waited) * ms, before + waited * ms);
  EXPECT_FALSE(mine.has_taken());
}

TEST(own_part, nobody_keeps_near_before_a_part) {
  own_part mine;
  EXPECT_EQ(mine.reach([] { return ms; }), reach::all);
  mine.ends(ms);  // of a part that began elsewhere
  EXPECT_EQ(mine.reach([] { return ms; }), reach::all);
}

TEST(own_part, the_wait_is_first_four_times_as_long_as_the_part_was) {
  own_part mine;
  EXPECT_EQ(wait_after_5_ms(mine), 20 * ms);
  mine.begins(1);
  mine.ends(ms / 100);  // at least what the news of a loop needs
  EXPECT_EQ(mine.reach([] { return ms / 10; }), reach::near);
  EXPECT_EQ(mine.reach([] { return ms; }), reach::all);
  mine.begins(1);
  mine.ends(1000 * ms);
  EXPECT_EQ(mine.reach([] { return 1079 * ms; }), reach::no_parts);
  EXPECT_EQ(mine.reach([] { return 1081 * ms; }), reach::all);
}

// Others may run something that is of no part: it looks, and after a while again.
TEST(own_part, meanwhile_it_looks_at_other_nodes_now_and_then) {
  own_part mine;
  mine.begins(100 * ms);
  mine.ends(110 * ms);
  const auto may_at = [&](std::uint64_t tenths) { return mine.reach([=] { return 110 * ms + tenths * ms / 10; }); };
  EXPECT_EQ(may_at(1), reach::near);
  EXPECT_EQ(may_at(3), reach::no_parts);
  mine.met_part(110 * ms + 3 * ms / 10);
  EXPECT_EQ(may_at(4), reach::near);
  EXPECT_EQ(may_at(6), reach::no_parts);
  EXPECT_EQ(may_at(399), reach::no_parts);
  EXPECT_EQ(may_at(401), reach::all);
}

TEST(own_part, what_was_waited_for_makes_it_longer_and_what_was_computed_shorter) {
  own_part mine;
  does(mine, 1, 4);
  EXPECT_EQ(wait_after_5_ms(mine), 80 * ms);
  does(mine, 1, 4);  // not without end
  EXPECT_EQ(wait_after_5_ms(mine), 80 * ms);
  for (const std::uint64_t wait : {40, 20, 10, 5, 5}) {
    does(mine, 4, 1);
    EXPECT_EQ(wait_after_5_ms(mine), wait * ms);
  }
}

TEST(own_part, little_work_says_nothing) {
  own_part mine(true);  // on a core that others use, of which a time slice is little
  does(mine, 1, 4);
  does(mine, 3, 0);
  EXPECT_EQ(wait_after_5_ms(mine), 80 * ms);
  does(mine, 5, 1);
  EXPECT_EQ(wait_after_5_ms(mine), 40 * ms);
}

// The clock of waits is read apart from the other one.
TEST(own_part, more_waiting_than_time_is_all_of_it) {
  own_part mine;
  mine.took(2000 * ms, 0);
  mine.did(2001 * ms, 2 * ms);
  EXPECT_EQ(wait_after_5_ms(mine), 80 * ms);
}

}  // namespace
