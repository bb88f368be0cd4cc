// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 9 s
// Waiting and forking while an exception is under way, in destructors, and in catch clauses: the exception is memory of
// its process, so the task stays there, and thieves do not see what it forks.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

#include "in_job.hpp"

namespace {

long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}

struct way {
  const char* name;
  int workers;
  std::vector<std::pair<const char*, const char*>> env;
};

class under_exceptions : public testing::TestWithParam<way> {
 protected:
  // F throws "mine" through a destructor that waits.
  template <class F>
  void each_exception_arrives(F f) {
    const outcome o = in_job(
        GetParam().workers, {},
        [f](tobi::runtime&) {
          for (int runs = 0; runs < 5; ++runs) {
            const int caught = tobi::run([=] {
              int right = 0;
              for (int i = 0; i < 30; ++i) {
                try {
                  f();
                } catch (const std::runtime_error& e) {
                  right += std::strcmp(e.what(), "mine") == 0 ? 1 : 0;
                }
                right += std::uncaught_exceptions() == 0 ? 0 : 1000;
              }
              return right;
            });
            if (caught != 30) return 1;
          }
          return 0;
        },
        GetParam().env);
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
  }
};

TEST_P(under_exceptions, a_destructor_joins_a_task) {
  each_exception_arrives([] {
    auto t = tobi::spawn([] { return fib(12); });
    const at_the_end joins{[&t] { t.join(); }};
    throw std::runtime_error("mine");
  });
}

TEST_P(under_exceptions, a_task_that_nobody_joins_ends_first) {
  each_exception_arrives([] {
    auto t = tobi::spawn([] { return fib(12); });
    throw std::runtime_error("mine");
  });
}

TEST_P(under_exceptions, a_destructor_joins_a_future) {
  each_exception_arrives([] {
    const auto f = tobi::spawn_future([] { return fib(12); });
    const at_the_end joins{[f] { f.join(); }};
    throw std::runtime_error("mine");
  });
}

TEST_P(under_exceptions, a_destructor_waits_in_a_finish) {
  each_exception_arrives([] {
    const at_the_end waits{[] { tobi::finish([] { tobi::async([] { fib(10); }); }); }};
    throw std::runtime_error("mine");
  });
}

TEST_P(under_exceptions, a_destructor_forks) {
  each_exception_arrives([] {
    const at_the_end forks{[] { tobi::parallel_for(0, 8, 1, [](int) { fib(8); }); }};
    throw std::runtime_error("mine");
  });
}

TEST_P(under_exceptions, a_destructor_joins_a_task_that_throws_too) {
  each_exception_arrives([] {
    auto t = tobi::spawn([]() -> int {
      fib(6);
      throw 1;
    });
    const at_the_end joins{[&t] {
      try {
        t.join();
      } catch (const tobi::task_error&) {
      }
    }};
    throw std::runtime_error("mine");
  });
}

TEST_P(under_exceptions, tasks_of_a_destructor_throw_through_others) {
  each_exception_arrives([] {
    const at_the_end forks{[] {
      try {
        auto outer = tobi::spawn([] {
          auto t = tobi::spawn([] { return fib(9); });
          const at_the_end joins{[&t] { t.join(); }};
          throw std::logic_error("inner");
        });
        outer.join();
      } catch (const tobi::task_error&) {
      }
    }};
    throw std::runtime_error("mine");
  });
}

TEST_P(under_exceptions, a_catch_clause_forks_and_joins) {
  each_exception_arrives([] {
    try {
      throw 5;
    } catch (const int five) {
      auto t = tobi::spawn([] { return fib(10); });
      if (fib(8) + t.join() + five == 21 + 55 + 5) throw std::runtime_error("mine");
    }
  });
}

// The parent of the task that throws is on the same stack, and what it waits for is another worker's.
TEST_P(under_exceptions, a_destructor_waits_below_its_parent) {
  if (GetParam().name == std::string("child_rtc")) GTEST_SKIP() << "child_rtc refuses promises";
  each_exception_arrives([] {
    const auto p = tobi::make_promise<long>(1);
    const auto sets = tobi::spawn_future([=] {
      fib(16);
      p.set(5);
    });
    const auto f = tobi::spawn_future([=] { return p.get_future().join(); });
    auto t = tobi::spawn([=] {
      const at_the_end joins{[f] { f.join(); }};
      throw std::logic_error("inner");
    });
    sets.join();
    try {
      t.join();
    } catch (const tobi::task_error& e) {
      if (e.message() != "inner") return;
    }
    throw std::runtime_error("mine");
  });
}

// The worker must go on with what lies below the thrower on its stack, and with tasks that wait for it alone.
TEST_P(under_exceptions, what_a_thrower_has_made_ready_goes_on) {
  if (GetParam().name == std::string("child_rtc")) GTEST_SKIP() << "child_rtc refuses promises";
  each_exception_arrives([] {
    auto q = tobi::spawn([] {
      const auto p = tobi::make_promise<int>(1);
      auto c = tobi::spawn([=] { return p.get_future().join(); });
      p.set(1);
      throw std::runtime_error("inner");  // c is joined meanwhile
    });
    try {
      q.join();
    } catch (const tobi::task_error& e) {
      if (e.message() != "inner") return;
    }
    throw std::runtime_error("mine");
  });
}

TEST_P(under_exceptions, a_catch_clause_waits_for_what_its_parent_does) {
  if (GetParam().name == std::string("child_rtc")) GTEST_SKIP() << "child_rtc refuses promises";
  each_exception_arrives([] {
    const auto p = tobi::make_promise<long>(1);
    auto t = tobi::spawn([=] {
      try {
        throw 5;
      } catch (const int five) {
        return p.get_future().join() + five;
      }
    });
    p.set(6);
    if (t.join() == 11) throw std::runtime_error("mine");
  });
}

// A child of the clause waits: with its parent, whose exception it is, and without its grandparent, who does what both
// wait for. Their finishes are theirs again when they go on.
TEST_P(under_exceptions, a_child_of_a_catch_clause_waits_with_it) {
  if (GetParam().name == std::string("child_rtc")) GTEST_SKIP() << "child_rtc refuses promises";
  each_exception_arrives([] {
    const auto p = tobi::make_promise<long>(2);
    const auto done = tobi::make_promise<long>(1);
    auto t = tobi::spawn([=] {
      long in_clause = 0;
      try {
        throw std::logic_error("inner");
      } catch (const std::logic_error& e) {
        tobi::finish([&] {
          auto child = tobi::spawn([=] {
            long of_child = 0;
            tobi::finish([&] {
              tobi::async([] { fib(4); });
              of_child = p.get_future().join();
              tobi::async([=] { done.set(fib(7)); });
            });
            return of_child;
          });
          in_clause = p.get_future().join() + child.join();
        });
        in_clause += std::strcmp(e.what(), "inner") == 0 ? 100 : 0;
      }
      return in_clause + done.get_future().join();
    });
    p.set(6);
    if (t.join() == 125) throw std::runtime_error("mine");
  });
}

// Several stacks with exceptions of their own are put away at once, and go on in another order.
TEST_P(under_exceptions, many_stacks_wait_at_once) {
  if (GetParam().name == std::string("child_rtc")) GTEST_SKIP() << "child_rtc refuses promises";
  each_exception_arrives([] {
    constexpr int stacks = 12;
    std::array<tobi::promise<long>, stacks> p;
    for (auto& each : p) each = tobi::make_promise<long>(1);
    std::array<tobi::future<long>, stacks> right;
    for (int i = 0; i < stacks; ++i) {
      right[i] = tobi::spawn_future([=, at = p[i]] {
        try {
          throw std::logic_error("stack " + std::to_string(i));
        } catch (const std::logic_error& e) {
          auto joins = tobi::spawn([=] { return fib(at.get_future().join()); });
          joins.join();
          return e.what() == "stack " + std::to_string(i) ? 1L : 0L;
        }
      });
    }
    for (int i = stacks; i-- > 0;) p[i].set(i % 5);
    long all = 0;
    for (const auto& one : right) all += one.join();
    if (all == stacks) throw std::runtime_error("mine");
  });
}

TEST_P(under_exceptions, main_runs_tasks_in_a_catch_clause) {
  const outcome o = in_job(
      GetParam().workers, {},
      [](tobi::runtime&) {
        try {
          throw std::runtime_error("main's");
        } catch (const std::runtime_error& e) {
          const long n = tobi::run([] { return fib(18); });
          return n == 2584 && std::strcmp(e.what(), "main's") == 0 ? 0 : 1;
        }
      },
      GetParam().env);
  EXPECT_EQ(o.status, 0) << o.said;
}

const way ways[] = {
    {"one", 1, {}},
    {"two", 2, {}},
    {"three", 3, {}},
    {"four", 4, {}},
    {"the_one", 1, {{"TOBI_DEQUE", "the"}}},
    {"the_three", 3, {{"TOBI_DEQUE", "the"}}},
    {"nodes", 4, {{"TOBI_NODES", "2"}}},
    {"stalling_one", 1, {{"TOBI_SCHED", "continuation_stalling"}}},
    {"stalling_three", 3, {{"TOBI_SCHED", "continuation_stalling"}}},
    {"adws", 3, {{"TOBI_SCHED", "adws"}}},
    {"child_full", 3, {{"TOBI_SCHED", "child_full"}}},
    {"child_rtc", 3, {{"TOBI_SCHED", "child_rtc"}}},
    {"moved_at_forks", 1, {{"TOBI_DEBUG_MIGRATE", "1"}}},
    {"moved_at_forks_three", 3, {{"TOBI_DEBUG_MIGRATE", "1"}}},
};
INSTANTIATE_TEST_SUITE_P(over, under_exceptions, testing::ValuesIn(ways),
                         [](const auto& the) { return std::string(the.param.name); });

// Whose exception it is that a destructor runs under is not known: the parents that it may belong to wait as well.
TEST(under_exceptions_alone, a_parent_that_cannot_go_on_is_told_of) {
  const outcome o = in_job(1, {}, [](tobi::runtime&) {
    tobi::run([] {
      const auto p = tobi::make_promise<long>(1);
      auto t = tobi::spawn([=] {
        const at_the_end joins{[p] { p.get_future().join(); }};
        throw std::logic_error("inner");
      });
      p.set(5);
      t.join();
      return 0;
    });
    return 0;
  });
  EXPECT_EQ(o.status, 1) << o.said;
  EXPECT_NE(o.said.find("1 parent of a task that waits in a destructor, under an exception, has to wait with it"),
            std::string::npos)
      << o.said;
  EXPECT_NE(o.said.find("the job stands still"), std::string::npos) << o.said;
}

// What a destructor waits for may be what only its own worker can run.
TEST(under_exceptions_alone, a_task_that_waits_is_awaited_by_a_destructor) {
  for (const char* deque : {"steal_word", "the"}) {
    const outcome o = in_job(1, {{"TOBI_DEQUE", deque}}, [](tobi::runtime&) {
      return tobi::run([] {
        try {
          auto p = tobi::make_promise<int>();
          auto t = tobi::spawn([=] { return p.get_future().join(); });
          p.set(1);
          throw std::runtime_error("mine");
        } catch (const std::runtime_error&) {
          return 0;
        }
        return 1;
      });
    });
    EXPECT_EQ(o.status, 0) << o.said;
  }
}

}  // namespace
