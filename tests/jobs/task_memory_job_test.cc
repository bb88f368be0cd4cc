// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 6 s
// Containers that are locals of a task, in a memory that moves with it: they are what they were, wherever it goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/jobs/ways.hpp"

namespace {

using text = std::basic_string<char, std::char_traits<char>, tobi::task_allocator<char>>;
template <class K, class V>
using local_map = std::map<K, V, std::less<>, tobi::task_allocator<std::pair<const K, V>>>;

std::vector<way> ways() {
  const setting sim{"TOBI_TRANSPORT", "sim"}, two{"TOBI_NODES", "2"};
  return usual_ways_and({{"the", 4, {sim, two, {"TOBI_DEQUE", "the"}}},
                         {"stalling", 4, {sim, two, {"TOBI_SCHED", "continuation_stalling"}}},
                         {"adws", 4, {sim, two, {"TOBI_SCHED", "adws"}}},
                         {"child_full", 4, {sim, two, {"TOBI_SCHED", "child_full"}}},
                         {"child_rtc", 4, {sim, two, {"TOBI_SCHED", "child_rtc"}}}});
}

class local_memory : public in_each_way {};

// The task goes from worker to worker, with a vector, a string and a map, which each journey changes.
TEST_P(local_memory, goes_where_the_task_goes) {
  expect_zero([](tobi::runtime& rt) {
    return tobi::run([size = rt.size()] {
      return tobi::with_task_memory(64 * 1024, [=](tobi::task_memory& memory) {
        tobi::local_vector<int> seen(memory);
        text all(memory);
        local_map<int, text> names{tobi::task_allocator<char>(memory)};
        for (int journey = 0; journey < 4 * size; ++journey) {
          tobi::migrate_to(journey % size);
          CHECK(seen.size() == static_cast<std::size_t>(journey) && all.size() == 3 * seen.size());
          for (int i = 0; i < journey; ++i) CHECK(seen[static_cast<std::size_t>(i)] == i * i);
          seen.push_back(journey * journey);
          all += "abc";
          CHECK(names.emplace(journey, text(30, static_cast<char>('a' + journey % 26), memory)).second);
          int next = 0;
          for (const auto& [number, name] : names) CHECK(number == next++ && name.size() == 30);
          if (journey % 3 == 2) seen.shrink_to_fit();
        }
        return 0;
      });
    });
  });
}

// Numbers in the order in which a walk over a binary tree meets them. Each task keeps what its children have found.
std::uint64_t walk(int depth, std::uint64_t first) {
  return tobi::with_task_memory(1024, [=](tobi::task_memory& memory) -> std::uint64_t {
    if (depth == 0) return first * first % 1009;
    tobi::local_vector<std::uint64_t> found({first}, memory);
    auto left = tobi::spawn([=] { return walk(depth - 1, 2 * first); });
    found.push_back(first + 1);
    auto right = tobi::spawn([=] { return walk(depth - 1, 2 * first + 1); });
    found.push_back(first + 2);
    found.push_back(right.join());
    found.push_back(left.join());
    // What a task of another process had changed, or had left behind, would be seen here.
    if (found[0] != first || found[1] != first + 1 || found[2] != first + 2 || found.size() != 5) return 1'000'000'007;
    return (found[3] * 31 + found[4]) % 1'000'003;
  });
}
std::uint64_t walk_alone(int depth, std::uint64_t first) {
  if (depth == 0) return first * first % 1009;
  return (walk_alone(depth - 1, 2 * first + 1) * 31 + walk_alone(depth - 1, 2 * first)) % 1'000'003;
}

TEST_P(local_memory, lives_across_spawns_and_joins) {
  expect_zero([](tobi::runtime&) {
    for (int round = 0; round < 5; ++round) {
      const std::uint64_t found = tobi::run([] { return walk(9, 1); });
      CHECK(found == walk_alone(9, 1));
    }
    return 0;
  });
}

// It leaves the task as an exception, whose destructors give everything back; the memory around it can be used on.
TEST_P(local_memory, that_is_full_says_so) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
      return tobi::with_task_memory(4096, [](tobi::task_memory& memory) {
        auto child = tobi::spawn([] {
          return tobi::with_task_memory(256, [](tobi::task_memory& mine) {
            tobi::local_vector<long> v(mine);
            for (long i = 0;; ++i) v.push_back(i);
            return 0;
          });
        });
        tobi::local_vector<long> v(memory);
        v.push_back(1);
        try {
          (void)child.join();
          CHECK(false);
        } catch (const tobi::task_error& e) {
          CHECK(std::string(e.what()).find("a task_memory of 256 bytes has") != std::string::npos);
        }
        CHECK(v.size() == 1 && v[0] == 1);
        return 0;
      });
    });
  });
}

INSTANTIATE_TEST_SUITE_P(ways, local_memory, testing::ValuesIn(ways()), name_of_way);

TEST(local_memory_job, a_stack_that_is_too_small_for_it_is_told) {
  for (const char* sched : {"continuation_greedy", "child_rtc", "child_full"}) {
    const outcome o = in_job(2, {{"TOBI_STACK_SIZE", "256K"}, {"TOBI_SCHED", sched}}, [](tobi::runtime&) {
      return tobi::run([] {
        auto child = tobi::spawn([] {
          return tobi::with_task_memory(
              std::size_t{1} << 30, [](tobi::task_memory& memory) { return tobi::local_vector<int>(3, memory)[2]; });
        });
        return child.join();
      });
    });
    EXPECT_NE(o.status, 0);
    EXPECT_NE(o.said.find("_STACK_SIZE"), std::string::npos) << sched << ": " << o.said;
  }
}

TEST(local_memory_job, main_may_use_it_too) {
  const outcome o = in_job(1, {}, [](tobi::runtime&) {
    return tobi::with_task_memory(1024, [](tobi::task_memory& memory) {
      return tobi::local_vector<int>({0, 1}, memory)[0];
    });
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

}  // namespace
