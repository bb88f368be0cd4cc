// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 35 s
// Futures and promises in jobs: any number of consumers, set by anyone, joined by anyone; their mistakes; and that a
// job in which nothing can run ends with a report, over each kind of fabric.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/jobs/in_job.hpp"

namespace {

using fabric_settings = std::vector<std::pair<const char*, const char*>>;

// As in_job, with settings that are made at run time.
template <class Body>
outcome job_over(int workers, const fabric_settings& env, Body body) {
  return in_job(
      workers, {}, [&](tobi::runtime& rt) { return body(rt); }, env);
}

void spin(unsigned rounds) {
  for (volatile unsigned i = 0; i < rounds;) i = i + 1;
}

struct way {
  const char* name;
  int workers;
  fabric_settings env;
};

class futures : public testing::TestWithParam<way> {
 protected:
  template <class Body>
  outcome run(Body body) {
    return job_over(GetParam().workers, GetParam().env, body);
  }
  template <class Body>
  void expect_zero(Body body) {
    const outcome o = run(body);
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
  }
};

TEST_P(futures, a_promise_is_set_by_one_task_and_joined_by_others) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
             std::uint64_t sum = 0;
             for (std::uint64_t i = 0; i < 20; ++i) {
               const auto p = tobi::make_promise<std::uint64_t>(3);
               const auto f = p.get_future();
               auto a = tobi::spawn([=] { return f.join(); });
               auto b = tobi::spawn([=] { return f.join(); });
               auto c = tobi::spawn([=] {
                 spin(2000);
                 p.set(i);
               });
               sum += f.join() + a.join() + b.join();
               c.join();
             }
             return sum;
           }) == 3 * 190
               ? 0
               : 1;
  });
}

struct chain {
  tobi::future<chain> next;
  std::uint64_t value;
};

chain grow(std::uint64_t n) {
  spin(200);
  if (n == 0) return {{}, 0};
  return {tobi::spawn_future([=] { return grow(n - 1); }), n};
}

TEST_P(futures, a_future_travels_inside_the_result_of_another) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
             std::uint64_t sum = 0;
             chain link = tobi::spawn_future([] { return grow(100); }).join();
             for (; link.next.valid(); link = link.next.join()) sum += link.value;
             return sum;
           }) == 5050
               ? 0
               : 1;
  });
}

// Many tasks wait for one promise. Each then has work to do: with more workers than one it spreads.
TEST_P(futures, all_who_wait_go_on_when_a_promise_is_set) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
      constexpr int waiters = 60;
      const auto p = tobi::make_promise<int>(tobi::any_number);
      const auto f = p.get_future();
      auto all = tobi::spawn([=] {
        return tobi::parallel_reduce(
            0, waiters, 1, 0,
            [=](int) {
              const int one = f.join();
              spin(20000);
              return one;
            },
            [](int a, int b) { return a + b; });
      });
      p.set(1);
      return all.join() - waiters;
    });
  });
}

TEST_P(futures, a_promise_that_failed_throws_at_each_join) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
      const auto p = tobi::make_promise<void>(2);
      auto setter = tobi::spawn([=] {
        try {
          throw std::domain_error("no result");
        } catch (const std::domain_error&) {
          p.fail();
        }
      });
      int caught = 0;
      for (int i = 0; i < 2; ++i) {
        try {
          p.get_future().join();
        } catch (const tobi::task_error& e) {
          if (e.type_name() == "std::domain_error" && e.message() == "no result") ++caught;
        }
      }
      setter.join();
      return caught == 2 ? 0 : 1;
    });
  });
}

void expect_said(const outcome& o, const char* words) {
  EXPECT_EQ(o.status, 1) << o.said;
  EXPECT_NE(o.said.find(words), std::string::npos) << o.said;
  EXPECT_NE(o.said.find("rank "), std::string::npos) << o.said;
}

TEST_P(futures, a_join_too_many_is_one_sentence) {
  expect_said(run([](tobi::runtime&) {
                tobi::run([] {
                  const auto f = tobi::spawn_future([] { return 1; });
                  (void)f.join();
                  (void)f.join();
                });
                return 0;
              }),
              "is joined more often than its maker said");
  expect_said(run([](tobi::runtime&) {
                tobi::run([] {
                  const auto p = tobi::make_promise<int>(2);
                  const auto f = p.get_future();
                  auto a = tobi::spawn([=] { return f.join(); });
                  auto b = tobi::spawn([=] { return f.join(); });
                  auto c = tobi::spawn([=] { return f.join(); });
                  p.set(1);
                  return a.join() + b.join() + c.join();
                });
                return 0;
              }),
              "is joined more often than its maker said");
}

TEST_P(futures, a_second_set_is_one_sentence) {
  expect_said(run([](tobi::runtime&) {
                tobi::run([] {
                  const auto p = tobi::make_promise<int>();
                  p.set(1);
                  p.set(2);
                });
                return 0;
              }),
              "is set twice");
}

TEST_P(futures, a_future_that_was_never_made_is_one_sentence) {
  expect_said(run([](tobi::runtime&) {
                tobi::run([] { return tobi::future<int>().join(); });
                return 0;
              }),
              "never made");
}

TEST_P(futures, a_promise_that_nobody_sets_ends_the_job_with_a_report) {
  const outcome o = run([](tobi::runtime&) {
    tobi::run([] {
      const auto p = tobi::make_promise<int>(3);
      auto a = tobi::spawn([=] { return p.get_future().join(); });
      auto b = tobi::spawn([=] { return p.get_future().join(); });
      return p.get_future().join() + a.join() + b.join();
    });
    return 0;
  });
  expect_said(o, "the job stands still");
  expect_said(o, "3 tasks wait for results that nobody will give");
  expect_said(o, "which nobody has set");
}

TEST_P(futures, tasks_that_wait_for_each_other_end_the_job_with_a_report) {
  const outcome o = run([](tobi::runtime&) {
    tobi::run([] {
      const auto p = tobi::make_promise<int>();
      const auto q = tobi::make_promise<int>();
      auto a = tobi::spawn([=] {
        const int got = q.get_future().join();
        p.set(got);
      });
      const int got = p.get_future().join();
      q.set(got);
      a.join();
    });
    return 0;
  });
  expect_said(o, "the job stands still");
  expect_said(o, "2 tasks wait");
}

// Long pauses of everything but one leaf, again and again: idle workers are still for a long time, and nothing ends.
TEST_P(futures, a_long_leaf_is_no_standstill) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
      const auto p = tobi::make_promise<int>(2);
      auto waits = tobi::spawn([=] { return p.get_future().join(); });
      auto also = tobi::spawn([=] { return p.get_future().join(); });
      const timespec moment{0, 1'000'000};
      for (int i = 0; i < 700; ++i) {
        nanosleep(&moment, nullptr);
        tobi::poll();
      }
      p.set(2);
      return waits.join() + also.join() - 4;
    });
  });
}

INSTANTIATE_TEST_SUITE_P(
    over, futures,
    testing::Values(
        way{"one", 1, {}}, way{"two", 2, {}}, way{"four", 4, {}}, way{"the_two", 2, {{"TOBI_DEQUE", "the"}}},
        way{"the_four", 4, {{"TOBI_DEQUE", "the"}}}, way{"stalling_one", 1, {{"TOBI_SCHED", "continuation_stalling"}}},
        way{"stalling_three", 3, {{"TOBI_SCHED", "continuation_stalling"}}},
        way{"child_full_one", 1, {{"TOBI_SCHED", "child_full"}}},
        way{"child_full_three", 3, {{"TOBI_SCHED", "child_full"}}},
        way{"stalling_sim",
            2,
            {{"TOBI_SCHED", "continuation_stalling"}, {"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}}},
        way{"child_full_sim", 2, {{"TOBI_SCHED", "child_full"}, {"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}}},
        way{"migrating", 1, {{"TOBI_DEBUG_MIGRATE", "1"}}}, way{"migrating_three", 3, {{"TOBI_DEBUG_MIGRATE", "1"}}},
        way{"sim_two_nodes", 2, {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}}},
        way{"sim_three", 3, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "nochain,depth1"}}},
        way{"sim_the", 2, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_DEQUE", "the"}}},
        way{"sim_manual", 2, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "manual"}}},
        way{"ofi_two_nodes",
            4,
            {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "ofi"}, {"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"}}}),
    [](const testing::TestParamInfo<way>& i) { return std::string(i.param.name); });

// Known to all workers: mapped before they are forked.
struct board {
  std::atomic<int> started{0};
  std::atomic<int> ended{0};
};
board* shared() {
  static auto* const at =
      new (mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) board;
  return at;
}

// A computation that calls nothing of the runtime, and leaves its core to others. It ends when COUNT is reached.
void sleep_until(const std::atomic<int>& count, int reached) {
  const timespec moment{0, 1'000'000};
  while (count < reached) nanosleep(&moment, nullptr);
}

// Waits for PROMISE, and is a leaf until TOGETHER tasks like it have begun.
int waiter_of(tobi::promise<int> promise, int together) {
  const int got = promise.get_future().join();
  ++shared()->started;
  sleep_until(shared()->started, together);
  ++shared()->ended;
  return got;
}

constexpr int many_workers = 16;

// All of BODY's tasks wait, and go on while the one that lets them goes on computes: so none of them is hidden by it.
template <class Body>
void expect_all_go_on(const char* deque, Body body) {
  new (shared()) board;
  const outcome o = in_job(many_workers, {{"TOBI_DEQUE", deque}}, [body](tobi::runtime&) { return tobi::run(body); });
  EXPECT_EQ(o.status, 0) << deque << ": " << shared()->started << " began, " << shared()->ended << " ended" << o.said;
}

TEST(ready, ten_promises_that_one_task_sets_hide_none_of_those_who_wait) {
  for (const char* deque : {"steal_word", "the"}) {
    expect_all_go_on(deque, [] {
      constexpr int count = 10;
      std::array<tobi::promise<int>, count> promises;
      for (auto& p : promises) p = tobi::make_promise<int>(1);
      std::array<tobi::future<int>, count> tasks;
      for (std::size_t i = 0; i < count; ++i) {
        tasks[i] = tobi::spawn_future([p = promises[i]] { return waiter_of(p, count); });
      }
      for (const auto& p : promises) p.set(1);
      sleep_until(shared()->ended, count);
      int sum = 0;
      for (const auto& t : tasks) sum += t.join();
      return sum - count;
    });
  }
}

// Each of the others takes one of those who wait for one promise and keeps it until all of them have one: what is left
// of the list is to be had, whoever holds it.
TEST(ready, those_who_wait_for_one_promise_spread_over_all_idle_workers) {
  for (const char* deque : {"steal_word", "the"}) {
    expect_all_go_on(deque, [] {
      constexpr int count = 32;
      const auto p = tobi::make_promise<int>(count);
      std::array<tobi::future<int>, count> tasks;
      for (auto& t : tasks) t = tobi::spawn_future([p] { return waiter_of(p, many_workers - 1); });
      p.set(1);
      sleep_until(shared()->ended, count);
      int sum = 0;
      for (const auto& t : tasks) sum += t.join();
      return sum - count;
    });
  }
}

// Waiters that a promise lets go on are taken by an idle worker while the one that set it is busy and only polls.
TEST(ready, suspended_tasks_that_can_run_are_stolen_from_a_busy_worker) {
  for (const char* deque : {"steal_word", "the"}) {
    const outcome o = in_job(2, {{"TOBI_DEQUE", deque}}, [](tobi::runtime& rt) {
      while (rt.stats().contexts_stolen == 0) {
        tobi::run([] {
          const auto p = tobi::make_promise<int>(4);
          auto a = tobi::spawn([=] { return p.get_future().join(); });
          auto b = tobi::spawn([=] { return p.get_future().join(); });
          auto c = tobi::spawn([=] { return p.get_future().join(); });
          p.set(1);
          for (int k = 0; k < 200; ++k) {
            spin(1000);
            tobi::poll();
          }
          return a.join() + b.join() + c.join() + p.get_future().join();
        });
      }
      return 0;
    });
    EXPECT_EQ(o.status, 0) << deque << o.said;
  }
}

}  // namespace
