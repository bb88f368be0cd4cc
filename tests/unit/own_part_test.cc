// SPDX-License-Identifier: Apache-2.0
// How long a worker keeps from other nodes, from given times.
#include "libcore/sched/own_part.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using tobi::sched::own_part;

constexpr std::uint64_t ms = 1'000'000;

// For how long a worker keeps near after a part of 5 ms, to a tenth of a millisecond.
std::uint64_t wait_after_5_ms(own_part& mine) {
  constexpr std::uint64_t end = 1000 * ms;
  mine.begins(end - 5 * ms);
  mine.ends(end);
  std::uint64_t now = end;
  while (mine.keeps_near([&] { return now; })) now += ms / 10;
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
  EXPECT_FALSE(mine.keeps_near([] { return ms; }));
  mine.ends(ms);  // of a part that began elsewhere
  EXPECT_FALSE(mine.keeps_near([] { return ms; }));
}

TEST(own_part, the_wait_is_as_long_as_the_part_was) {
  own_part mine;
  EXPECT_EQ(wait_after_5_ms(mine), 5 * ms);
  mine.begins(1);
  mine.ends(ms / 100);  // at least what the news of a loop needs
  EXPECT_TRUE(mine.keeps_near([] { return ms / 10; }));
  EXPECT_FALSE(mine.keeps_near([] { return ms; }));
  mine.begins(1);
  mine.ends(1000 * ms);
  EXPECT_FALSE(mine.keeps_near([] { return 1021 * ms; }));
}

TEST(own_part, what_was_waited_for_makes_it_longer_and_what_was_computed_shorter) {
  own_part mine;
  does(mine, 1, 4);
  EXPECT_EQ(wait_after_5_ms(mine), 20 * ms);
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
  EXPECT_EQ(wait_after_5_ms(mine), 20 * ms);
  does(mine, 5, 1);
  EXPECT_EQ(wait_after_5_ms(mine), 10 * ms);
}

// The clock of waits is read apart from the other one.
TEST(own_part, more_waiting_than_time_is_all_of_it) {
  own_part mine;
  mine.took(2000 * ms, 0);
  mine.did(2001 * ms, 2 * ms);
  EXPECT_EQ(wait_after_5_ms(mine), 20 * ms);
}

}  // namespace
