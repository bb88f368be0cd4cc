// SPDX-License-Identifier: Apache-2.0
// lane: computes, 6 s
// Forks, joins, futures and failures as a program sees them, over numbers of workers, deques and migration at every
// fork.
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tests/jobs/in_job.hpp"

namespace {

std::uint64_t fib(std::uint64_t n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const std::uint64_t y = fib(n - 2);
  return x.join() + y;
}

// A leaf that lasts long enough to be stolen from.
void spin(unsigned rounds) {
  for (volatile unsigned i = 0; i < rounds;) i = i + 1;
}

struct wide {
  std::uint64_t words[12];
};

wide count_wide(std::uint64_t n) {
  if (n == 0) {
    wide w{};
    for (std::uint64_t i = 0; i < 12; ++i) w.words[i] = i;
    spin(2000);
    return w;
  }
  auto left = tobi::spawn([=] { return count_wide(n - 1); });
  wide sum = count_wide(n - 1);
  const wide other = left.join();
  for (std::uint64_t i = 0; i < 12; ++i) sum.words[i] += other.words[i];
  return sum;
}

std::uint64_t fail_at_depth(std::uint64_t n) {
  spin(500);
  if (n == 0) throw std::out_of_range("the bottom");
  auto child = tobi::spawn([=] { return fail_at_depth(n - 1); });
  spin(500);
  return child.join();
}

bool fails_as_expected(std::uint64_t depth) {
  try {
    fail_at_depth(depth);
  } catch (const tobi::task_error& e) {
    return e.type_name() == "std::out_of_range" && e.message() == "the bottom";
  }
  return false;
}

// How a test runs: workers, deque, migration at every fork, scheduler.
struct mode {
  int workers;
  const char* deque;
  const char* migrate = "0";
  const char* sched = "continuation_greedy";
};

class task : public testing::TestWithParam<mode> {
 protected:
  template <class Body>
  void expect_zero(Body body) {
    const auto [workers, deque, migrate, sched] = GetParam();
    const outcome o =
        in_job(workers, {{"TOBI_DEQUE", deque}, {"TOBI_DEBUG_MIGRATE", migrate}, {"TOBI_SCHED", sched}}, body);
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
  }
};

TEST_P(task, results_are_those_of_the_serial_program) {
  expect_zero([](tobi::runtime&) { return tobi::run([] { return fib(18); }) == 2584 ? 0 : 1; });
}

TEST_P(task, every_rank_gets_the_root_s_result_run_after_run) {
  expect_zero([](tobi::runtime&) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      if (tobi::run([=] { return fib(5) + i; }) != 5 + i) return 1;
    }
    tobi::run([] { spin(10); });
    return 0;
  });
}

TEST_P(task, results_larger_than_registers_arrive_whole) {
  expect_zero([](tobi::runtime&) {
    const wide w = tobi::run([] { return count_wide(7); });
    for (std::uint64_t i = 0; i < 12; ++i) {
      if (w.words[i] != 128 * i) return 1;
    }
    return 0;
  });
}

TEST_P(task, an_exception_leaves_at_the_join_with_type_and_message) {
  expect_zero([](tobi::runtime&) {
    for (std::uint64_t depth = 1; depth < 40; depth += 7) {
      if (!tobi::run([=] { return fails_as_expected(depth); })) return 1;
    }
    return 0;
  });
}

TEST_P(task, the_root_s_exception_is_thrown_on_every_rank) {
  expect_zero([](tobi::runtime&) {
    try {
      tobi::run([] { throw std::runtime_error("root"); });
    } catch (const tobi::task_error& e) {
      return e.message() == "root" && tobi::run([] { return fib(10); }) == 55 ? 0 : 1;
    }
    return 2;
  });
}

TEST_P(task, a_task_that_nobody_joins_is_awaited_where_it_goes_out_of_scope) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
             for (int i = 0; i < 50; ++i) {
               auto dropped = tobi::spawn([] {
                 spin(2000);
                 return fib(8);
               });
               spin(100);
               if (i % 2 == 0) continue;
             }
             return fib(12);
           }) == 144
               ? 0
               : 1;
  });
}

TEST_P(task, a_throw_between_fork_and_join_waits_for_the_child) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
             std::uint64_t caught = 0;
             for (int i = 0; i < 30; ++i) {
               try {
                 auto child = tobi::spawn([] {
                   spin(3000);
                   return fib(5);
                 });
                 spin(1000);
                 throw std::logic_error("before the join");
               } catch (const std::logic_error&) {
                 ++caught;
               }
             }
             return caught;
           }) == 30
               ? 0
               : 1;
  });
}

TEST_P(task, a_future_is_joined_by_as_many_tasks_as_it_was_made_for) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
             std::uint64_t sum = 0;
             for (std::uint64_t i = 0; i < 20; ++i) {
               const auto shared = tobi::spawn_future(
                   [=] {
                     spin(3000);
                     return fib(6) + i;
                   },
                   3);
               auto a = tobi::spawn([=] { return shared.join(); });
               auto b = tobi::spawn([=] { return shared.join(); });
               sum += shared.join() + a.join() + b.join();
             }
             return sum;
           }) == 3 * (20 * 8 + 190)
               ? 0
               : 1;
  });
}

TEST_P(task, a_future_of_any_number_can_be_joined_again_and_again) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
             const auto shared = tobi::spawn_future([] { return fib(10); }, tobi::any_number);
             return tobi::parallel_reduce(
                 0, 100, 1, std::uint64_t{0}, [=](int) { return shared.join(); },
                 [](std::uint64_t a, std::uint64_t b) { return a + b; });
           }) == 5500
               ? 0
               : 1;
  });
}

TEST_P(task, a_future_s_failure_reaches_every_consumer) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
             const auto shared = tobi::spawn_future(
                 []() -> std::uint64_t {
                   spin(2000);
                   throw std::domain_error("no value");
                 },
                 2);
             std::uint64_t caught = 0;
             for (int i = 0; i < 2; ++i) {
               try {
                 shared.join();
               } catch (const tobi::task_error& e) {
                 if (e.type_name() == "std::domain_error") ++caught;
               }
             }
             return caught;
           }) == 2
               ? 0
               : 1;
  });
}

TEST_P(task, parallel_for_and_invoke_run_everything_once) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
             tobi::parallel_for(0, 1000, 7, [](int) { spin(5); });
             tobi::parallel_for(5, 5, 1, [](int) { std::abort(); });
             tobi::parallel_invoke([] { spin(10); }, [] { spin(10); }, [] { spin(10); });
             return tobi::parallel_reduce(
                 std::uint64_t{1}, std::uint64_t{1001}, 3, std::uint64_t{0}, [](std::uint64_t i) { return i; },
                 [](std::uint64_t a, std::uint64_t b) { return a + b; });
           }) == 500500
               ? 0
               : 1;
  });
}

std::string name_of(const testing::TestParamInfo<mode>& i) {
  const mode& m = i.param;
  return std::string(m.sched) + "_" + m.deque + "_" + std::to_string(m.workers) +
         (m.migrate[0] == '1' ? "_migrating" : "");
}

INSTANTIATE_TEST_SUITE_P(workers, task,
                         testing::Values(mode{1, "steal_word"}, mode{2, "steal_word"}, mode{3, "steal_word"},
                                         mode{8, "steal_word"}, mode{2, "the"}, mode{3, "the"},
                                         mode{1, "steal_word", "1"}, mode{2, "steal_word", "1"}),
                         name_of);

std::vector<mode> other_schedulers() {
  std::vector<mode> modes;
  for (const char* sched : {"continuation_stalling", "child_full", "child_rtc", "adws"}) {
    for (const int workers : {1, 2, 3, 8}) modes.push_back({workers, "steal_word", "0", sched});
    for (const int workers : {1, 3}) modes.push_back({workers, "the", "0", sched});
  }
  modes.push_back({2, "steal_word", "1", "continuation_stalling"});
  return modes;
}
INSTANTIATE_TEST_SUITE_P(schedulers, task, testing::ValuesIn(other_schedulers()), name_of);

// --- what the statistics promise -------------------------------------------------------------------

int steal_something(tobi::runtime& rt, double& round_trips) {
  for (;;) {
    tobi::run([] {
      return tobi::parallel_reduce(
          0, 64, 1, 0,
          [](int) {
            spin(20000);
            return 1;
          },
          [](int a, int b) { return a + b; });
    });
    const tobi::statistics s = rt.stats();
    round_trips = s.round_trips_per_steal();
    if (s.steals_ok >= 10) return 0;
  }
}

TEST(statistics, a_successful_steal_of_the_steal_word_is_two_round_trips) {
  // Where the words of a line come in any order, the claim now and then finds another entry, whose frames it reads
  // then.
  const char* const over = std::getenv("TOBI_TRANSPORT");
  const double most = over != nullptr && std::string_view(over) == "sim" ? 2.5 : 2.0;
  const outcome o = in_job(2, {}, [most](tobi::runtime& rt) {
    double trips = 0;
    const int status = steal_something(rt, trips);
    return status != 0 ? status : trips >= 2.0 && trips <= most ? 0 : 1;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

TEST(statistics, a_successful_steal_of_the_is_more) {
  const outcome o = in_job(2, {{"TOBI_DEQUE", "the"}}, [](tobi::runtime& rt) {
    double trips = 0;
    const int status = steal_something(rt, trips);
    return status != 0 ? status : trips > 4.0 ? 0 : 1;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

TEST(statistics, forks_are_counted_when_asked_for) {
  const outcome o = in_job(2, {{"TOBI_STATS", "1"}}, [](tobi::runtime& rt) {
    tobi::run([] { return fib(15); });
    return rt.stats().forks == 986 ? 0 : 1;  // fib(16) - 1
  });
  EXPECT_EQ(o.status, 0) << o.said;
  EXPECT_NE(o.said.find("round trips per steal"), std::string::npos) << o.said;
}

// --- what goes wrong says so -------------------------------------------------------------------------

std::uint64_t deep(std::uint64_t n) {
  volatile char frame[256] = {};
  if (n == 0) return static_cast<std::uint64_t>(frame[0]);
  auto child = tobi::spawn([=] { return deep(n - 1); });
  return child.join() + static_cast<std::uint64_t>(frame[1]);
}

TEST(message, a_full_stack_names_the_setting) {
  const outcome o = in_job(1, {{"TOBI_STACK_SIZE", "256K"}},
                           [](tobi::runtime&) { return tobi::run([] { return deep(100000); }) == 0 ? 0 : 1; });
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.said.find("raise TOBI_STACK_SIZE"), std::string::npos) << o.said;
}

TEST(message, a_full_deque_names_the_setting) {
  const outcome o = in_job(1, {{"TOBI_DEQUE_SIZE", "512"}},
                           [](tobi::runtime&) { return tobi::run([] { return deep(2000); }) == 0 ? 0 : 1; });
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.said.find("raise TOBI_DEQUE_SIZE"), std::string::npos) << o.said;
}

TEST(message, a_pointer_into_another_task_s_stack_fails_at_once_under_debug_migrate) {
  for (const int workers : {1, 2}) {
    const outcome o = in_job(workers, {{"TOBI_DEBUG_MIGRATE", "1"}}, [](tobi::runtime&) {
      return tobi::run([] {
               volatile std::uint64_t mine[1024];
               mine[512] = 1;
               volatile std::uint64_t* p = &mine[512];
               auto child = tobi::spawn([=] { return *p + 0; });
               return child.join();
             }) == 1
                 ? 0
                 : 3;
    });
    EXPECT_EQ(o.status, 1) << workers;
    EXPECT_NE(o.said.find("touched the stack of another task"), std::string::npos) << o.said;
  }
}

long chain(long levels) {
  if (levels == 0) return 0;
  auto next = tobi::spawn([=] { return chain(levels - 1); });
  return next.join() + 1;
}

// A level takes 160 bytes where nothing moves: 16 MB, where a page a level would be 400.
TEST(debug_migrate, a_chain_of_forks_fits_into_twice_the_stack_that_it_takes) {
  for (const int workers : {1, 2}) {
    const outcome o = in_job(workers, {{"TOBI_DEBUG_MIGRATE", "1"}, {"TOBI_STACK_SIZE", "32M"}}, [](tobi::runtime&) {
      return tobi::run([] { return chain(100'000); }) == 100'000 ? 0 : 3;
    });
    EXPECT_EQ(o.status, 0) << workers << o.said;
    EXPECT_EQ(o.said, "") << workers;
  }
}

// The first of LEVELS tasks below this one reads a local of its parent.
long reads_its_parents_local(long levels) {
  const volatile long mine = levels;
  const volatile long* p = &mine;
  if (levels == 0) {
    auto child = tobi::spawn([=] { return *p + 0; });
    return child.join();
  }
  auto next = tobi::spawn([=] { return reads_its_parents_local(levels - 1); });
  return next.join();
}

// In 128K a child finds half of the region taken at every 16th level, and begins at the top.
TEST(debug_migrate, a_pointer_to_the_parent_s_local_fails_at_every_depth) {
  for (int levels = 0; levels < 40; ++levels) {
    const outcome o = in_job(1, {{"TOBI_DEBUG_MIGRATE", "1"}, {"TOBI_STACK_SIZE", "128K"}}, [=](tobi::runtime&) {
      return tobi::run([=] { return reads_its_parents_local(levels); }) == 0 ? 0 : 3;
    });
    EXPECT_EQ(o.status, 1) << levels;
    EXPECT_NE(o.said.find("touched the stack of another task"), std::string::npos) << levels << o.said;
  }
}

// A closure that lies in frames which move away, and where the next task begins at the top.
TEST(debug_migrate, large_closures_reach_children_that_begin_at_the_top) {
  struct many {
    std::array<long, 600> of;
  };
  struct deep {
    static long sum(const many& held, long levels) {
      if (levels == 0) return held.of[599];
      many next = held;
      next.of[599] += levels;
      auto child = tobi::spawn([=] { return sum(next, levels - 1); });
      return child.join();
    }
  };
  for (const int workers : {1, 2}) {
    const outcome o = in_job(workers, {{"TOBI_DEBUG_MIGRATE", "1"}, {"TOBI_STACK_SIZE", "256K"}}, [](tobi::runtime&) {
      return tobi::run([] { return deep::sum(many{}, 1000); }) == 500'500 ? 0 : 3;
    });
    EXPECT_EQ(o.status, 0) << workers << o.said;
  }
}

TEST(message, a_second_runtime_is_refused) {
  const outcome o = in_job(1, {}, [](tobi::runtime&) {
    tobi::runtime second(tobi::options{.workers = 1});
    return 0;
  });
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.said.find("one tobi::runtime"), std::string::npos) << o.said;
}

TEST(message, a_run_inside_a_task_is_refused) {
  const outcome o = in_job(1, {}, [](tobi::runtime&) {
    tobi::run([] { tobi::run([] {}); });
    return 0;
  });
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.said.find("inside a task"), std::string::npos) << o.said;
}

}  // namespace
