// SPDX-License-Identifier: Apache-2.0
// Task collections inside tobi::run: the run pauses on all workers, the collection is processed, and the run goes on.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tests/jobs/adding_collection.hpp"

namespace {

using namespace tallied;

class collections_in_a_run : public over_a_fabric {};

long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}

// A task of the run has it processed again and again, while other tasks of the run wait, run and are stolen.
int process_in_a_run(tobi::runtime& rt, tally* counts) {
  here mine{counts, rt.rank(), 100};
  collection tasks(work_on, mine, with());
  constexpr std::uint32_t all = 600;
  if (rt.rank() == rt.size() - 1) tasks.add({0, all - 1});
  for (int run = 0; run < 2; ++run) {
    const long sum = tobi::run([=, handle = tasks.handle()] {
      auto around = tobi::spawn([] { return fib(16); });
      auto inner = tobi::spawn([=] {
        long seen = 0;
        for (int round = 0; round < 4; ++round) {
          auto next = tobi::spawn([] { return fib(12); });
          handle.process();
          seen += counts->times[all - 1].load();
          handle.restore();
          seen += next.join();
        }
        return seen;
      });
      const long others = fib(14);
      return inner.join() + others + around.join();
    });
    CHECK(sum == 4 * run * 4 + 1 + 2 + 3 + 4 + 4 * 144 + 377 + 987);
  }
  CHECK(all_are(*counts, all, 8));
  tasks.process();  // and outside, as ever
  CHECK(all_are(*counts, all, 9));
  return 0;
}

// A catch clause has it processed, with the parents of its task on the same stack, while a destructor waits likewise
// for what comes after the pause.
int process_under_exceptions(tobi::runtime& rt, tally* counts) {
  here mine{counts, rt.rank(), 100};
  collection tasks(work_on, mine, with());
  constexpr std::uint32_t all = 100;
  if (rt.rank() == rt.size() - 1) tasks.add({0, all - 1});
  for (int run = 0; run < 3; ++run) {
    const long seen = tobi::run([=, handle = tasks.handle()] {
      const auto go = tobi::make_promise<long>(1), p = tobi::make_promise<long>(1);
      const auto waits = tobi::spawn_future([=] {
        go.get_future().join();  // the root lies below it no more
        auto thrower = tobi::spawn([=] {
          const at_the_end joins{[p] { p.get_future().join(); }};
          throw std::runtime_error("thrown");
        });
        try {
          thrower.join();
        } catch (const tobi::task_error& e) {
          return e.message() == "thrown" ? 1000L : 0L;
        }
        return 0L;
      });
      go.set(1);
      auto asks = tobi::spawn([=] {
        try {
          throw 5;
        } catch (const int five) {
          handle.process();
          const long times = static_cast<long>(counts->times[all - 1].load());
          handle.restore();
          return times + five;
        }
      });
      const long times = asks.join();
      p.set(1);
      return times + waits.join();
    });
    CHECK(seen == 1000 + 5 + run + 1);
  }
  return 0;
}

// Two tasks ask at the same time. The second one has its turn when the first one has had it.
int process_for_two_tasks(tobi::runtime& rt, tally* counts) {
  here mine{counts, rt.rank(), 100};
  collection some(work_on, mine, with());
  collection others(work_on, mine, with());
  constexpr std::uint32_t all = 100;
  if (rt.rank() == 0) some.add({0, all - 1});
  if (rt.rank() == rt.size() - 1) others.add({0, all - 1});
  for (std::uint32_t run = 1; run < 5; ++run) {
    const long sum = tobi::run([some = some.handle(), others = others.handle()] {
      auto other = tobi::spawn([=] {
        others.process();
        others.restore();
        return fib(5);
      });
      some.process();
      some.restore();
      return other.join() + fib(6);
    });
    CHECK(sum == 13);
    CHECK(all_are(*counts, all, 2 * run));
  }
  return 0;
}
TEST_P(collections_in_a_run, are_processed_for_two_tasks) { expect_zero(process_for_two_tasks); }
TEST_P(collections_in_a_run, are_processed_under_exceptions) { expect_zero(process_under_exceptions); }

TEST_P(collections_in_a_run, are_processed_by_a_task_of_a_run) { expect_zero(process_in_a_run); }

class in_a_run : public testing::TestWithParam<fabric_settings> {};
TEST_P(in_a_run, any_scheduler_whose_tasks_can_wait_pauses) {
  by_now = tobi::steal_by::automatic;
  for (const auto& processes : {process_in_a_run, process_for_two_tasks, process_under_exceptions}) {
    tally* counts = shared_tally();
    ASSERT_NE(counts, nullptr);
    const outcome o = in_job(
        4, {}, [&](tobi::runtime& rt) { return processes(rt, counts); }, GetParam());
    EXPECT_EQ(o.status, 0) << o.said;
    munmap(counts, sizeof *counts);
  }
}
INSTANTIATE_TEST_SUITE_P(
    with, in_a_run,
    testing::Values(fabric_settings{{"TOBI_SCHED", "continuation_stalling"}},
                    fabric_settings{{"TOBI_SCHED", "child_full"}}, fabric_settings{{"TOBI_DEQUE", "the"}},
                    fabric_settings{{"TOBI_DEBUG_MIGRATE", "1"}},
                    fabric_settings{
                        {"TOBI_SCHED", "continuation_stalling"}, {"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}},
                    fabric_settings{{"TOBI_SCHED", "child_full"}, {"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}}));

// Global memory that the run has written the collection's tasks read, and the other way round.
TEST_P(collections_in_a_run, see_its_global_memory) {
  expect_zero([](tobi::runtime& rt, tally*) {
    struct shared {
      tobi::global_span<std::uint64_t> numbers;
    };
    shared mine{tobi::allocate_all<std::uint64_t>(4096)};
    using on_numbers = tobi::task_collection<item, shared>;
    on_numbers tasks(
        [](const item& task, const on_numbers::context& at) {
          auto part = tobi::checkout(at.local().numbers.subspan(task.number * 64, 64), tobi::mode::read_write);
          for (std::uint64_t& n : part) n = 2 * n + task.number;
        },
        mine, with());
    for (std::uint32_t i = 0; i < 64; ++i) {
      if (static_cast<int>(i) % rt.size() == rt.rank()) tasks.add({i, 0});
    }
    const bool right = tobi::run([handle = tasks.handle(), numbers = mine.numbers] {
      tobi::fill(numbers, std::uint64_t{3});
      handle.process();
      bool all = true;
      for (std::uint64_t i = 0; i < 4096; i += 64) {
        auto part = tobi::checkout(numbers.subspan(i, 64), tobi::mode::read_write);
        for (std::uint64_t& n : part) {
          all = all && n == 6 + i / 64;
          n = 1;
        }
      }
      handle.restore();
      handle.process();
      for (std::uint64_t i = 0; i < 4096; i += 64) {
        auto part = tobi::checkout(numbers.subspan(i, 64), tobi::mode::read);
        for (const std::uint64_t n : part) all = all && n == 2 + i / 64;
      }
      return all;
    });
    CHECK(right);
    tobi::free_all(mine.numbers);
    return 0;
  });
}

TEST_P(collections_in_a_run, a_task_that_throws_is_caught_by_the_one_that_asked) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank(), 100};
    collection tasks(
        [](const item& task, const collection::context&) {
          if (task.number == 7) throw std::out_of_range("the tile is outside");
        },
        mine, with());
    for (std::uint32_t i = 0; rt.rank() == 0 && i < 30; ++i) tasks.add({i, 0});
    const bool caught = tobi::run([handle = tasks.handle()] {
      try {
        handle.process();
      } catch (const tobi::task_error& e) {
        return e.type_name() == "std::out_of_range" && e.message() == "the tile is outside";
      }
      return false;
    });
    CHECK(caught);
    return 0;
  });
}

// --- mistakes ----------------------------------------------------------------------------------------------

template <class Body>
void expect_refused(const char* sentence, Body body) {
  tallied::expect_refused<here>(sentence, body);
}

TEST(a_collection, is_asked_for_by_a_task_that_the_root_waits_for) {
  expect_refused("the root of tobi::run has ended while one of its tasks waits for all workers",
                 [](tobi::runtime&, here& mine) {
                   collection tasks(nothing, mine);
                   tobi::run([handle = tasks.handle()] { (void)tobi::spawn_future([=] { handle.process(); }, 1); });
                 });
}
TEST(a_collection, is_asked_for_in_a_run) {
  expect_refused("tobi::collection_handle::process was called outside of tobi::run", [](tobi::runtime&, here& mine) {
    collection tasks(nothing, mine);
    tasks.handle().process();
  });
}
TEST(a_collection, is_asked_for_while_it_is_there) {
  expect_refused("tobi::collection_handle::restore names a task collection that has ended",
                 [](tobi::runtime&, here& mine) {
                   const auto handle = collection(nothing, mine).handle();
                   tobi::run([=] { handle.restore(); });
                 });
}
TEST(a_collection, is_not_asked_for_where_no_task_can_wait) {
  const outcome o = in_job(2, {},
                           [](tobi::runtime& rt) {
                             here mine{nullptr, rt.rank()};
                             collection tasks(nothing, mine);
                             tobi::run([handle = tasks.handle()] { handle.process(); });
                             return 0;
                           },
                           {{"TOBI_SCHED", "child_rtc"}});
  EXPECT_EQ(o.status, 2) << o.said;
  EXPECT_NE(o.said.find("which TOBI_SCHED=child_rtc does not have; choose another scheduler."), std::string::npos)
      << o.said;
}

INSTANTIATE_TEST_SUITE_P(over, collections_in_a_run, testing::ValuesIn(ways()),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
