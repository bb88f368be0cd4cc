// SPDX-License-Identifier: Apache-2.0
// soak: compares times with a bound; rendezvous_job_test has the same events without a clock
// Programs of a few long tasks, as somebody would write them to see whether their work is shared: every leaf runs once,
// what was forked begins while its parent is still busy, and the whole ends within the bound of coarse.hpp. With each
// scheduler and deque, the first run of a job included.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "tests/jobs/coarse.hpp"
#include "tests/jobs/in_job.hpp"

namespace {

constexpr int workers = 16;
constexpr double leaf_ms = 20;

// Known to all workers: mapped before they are forked.
struct board {
  std::atomic<int> leaves{0};
  std::atomic<int> events{0};  // the number of the last one
  std::array<std::atomic<int>, 16> began{};
  std::atomic<int> long_leaf_ended{0};
  void happened(std::atomic<int>& what) { what = ++events; }
};
board* shared() {
  static auto* const at =
      new (mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) board;
  return at;
}

void leaf() {
  coarse::sleep_ms(leaf_ms);
  shared()->leaves++;
}

struct way {
  const char* sched;
  const char* deque;
  const char* transport;
  const char* nodes;
};
void PrintTo(const way& w, std::ostream* to) { *to << w.sched << " " << w.deque << " " << w.transport; }

class coarse_programs : public testing::TestWithParam<way> {
 protected:
  template <class Body>
  static outcome job(Body body) {
    const way& w = GetParam();
    new (shared()) board;
    return in_job(
        workers,
        {{"TOBI_SCHED", w.sched}, {"TOBI_DEQUE", w.deque}, {"TOBI_TRANSPORT", w.transport}, {"TOBI_NODES", w.nodes}},
        body);
  }

  // PROGRAM as a root, twice in a job: LEAVES of them each time, and each run within the bound of a program whose
  // longest path has SPAN leaves. A job that was late has three more tries: another program may have had the cores, but
  // a task that nobody can reach is late each time.
  template <class Program>
  static void expect_shared(int leaves, int span, Program program) {
    constexpr int late = 3;
    outcome o;
    for (int attempt = 0; attempt < 4 && (attempt == 0 || o.status == late); ++attempt) {
      o = job([=](tobi::runtime& rt) {
        const double most = coarse::bound_ms(leaves * leaf_ms, span * leaf_ms, rt.size());
        int status = 0;
        for (int i = 0; i < 2; ++i) {
          rt.barrier();
          const double took = coarse::time_ms([&] { tobi::run(program); });
          if (rt.rank() != 0 || took <= most) continue;
          std::fprintf(stderr, "run %d took %.1f ms, more than %.1f\n", i, took, most);
          status = late;
        }
        return status;
      });
      EXPECT_EQ(shared()->leaves, 2 * leaves);
    }
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
  }
  [[nodiscard]] static bool is(const char* sched) { return std::string(GetParam().sched) == sched; }
};

int line(int n) {
  if (n == 0) return 1;
  auto before = tobi::spawn([=] { return line(n - 1); });
  leaf();
  return before.join() + 1;
}

// Behind the deepest fork there are forty leaves, and never a fork again.
TEST_P(coarse_programs, a_linear_recursion) {
  expect_shared(40, 1, [] {
    if (line(40) != 41) std::abort();
  });
}

// The reverse: the leaf is forked, and the recursion goes on beside it.
void line_of_leaves(int n) {
  if (n == 0) return;
  auto one = tobi::spawn(leaf);
  line_of_leaves(n - 1);
  one.join();
}
TEST_P(coarse_programs, a_recursion_beside_its_leaves) {
  expect_shared(40, 1, [] { line_of_leaves(40); });
}

TEST_P(coarse_programs, a_flat_loop_of_asyncs) {
  expect_shared(32, 1, [] {
    tobi::finish([] {
      for (int i = 0; i < 32; ++i) tobi::async(leaf);
    });
  });
}

TEST_P(coarse_programs, nested_loops) {
  expect_shared(36, 1,
                [] { tobi::parallel_for(0, 6, 1, [](int) { tobi::parallel_for(0, 6, 1, [](int) { leaf(); }); }); });
}

TEST_P(coarse_programs, a_loop_behind_a_loop) {
  expect_shared(32, 2, [] {
    for (int i = 0; i < 2; ++i) tobi::parallel_for(0, 16, 1, [](int) { leaf(); });
  });
}

// A leaf beside many tasks that take no time: whatever the worker showed of these is used up when the leaf comes.
TEST_P(coarse_programs, a_leaf_behind_a_burst) {
  const outcome o = job([](tobi::runtime&) {
    tobi::run([] {
      for (int i = 0; i < 2000; ++i) {
        auto tiny = tobi::spawn([] { return 0; });
        (void)tiny.join();
      }
      board& b = *shared();
      auto first = tobi::spawn([] {
        shared()->happened(shared()->began[0]);
        coarse::sleep_ms(10 * leaf_ms);
        shared()->happened(shared()->long_leaf_ended);
      });
      b.happened(b.began[1]);
      coarse::sleep_ms(10 * leaf_ms);
      b.happened(b.long_leaf_ended);
      first.join();
    });
    return 0;
  });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, "");
  EXPECT_LE(shared()->began[0], 2);
  EXPECT_LE(shared()->began[1], 2) << "one of the leaves waited for the other";
}

// One task sets ten promises and computes on: each of the ten waiters begins its own leaf before that one has ended.
struct promised {
  tobi::promise<int> promise;
  const promised* before;
};
int set_ten(int waiters, const promised* last) {
  if (waiters == 10) {
    for (; last != nullptr; last = last->before) last->promise.set(1);
    coarse::sleep_ms(10 * leaf_ms);
    shared()->happened(shared()->long_leaf_ended);
    return 0;
  }
  const promised mine{tobi::make_promise<int>(), last};
  auto waiter = tobi::spawn([waiters, value = mine.promise.get_future()] {
    const int got = value.join();
    shared()->happened(shared()->began[static_cast<std::size_t>(waiters)]);
    leaf();
    return got;
  });
  const int others = set_ten(waiters + 1, &mine);
  return others + waiter.join();
}
TEST_P(coarse_programs, a_task_that_sets_ten_promises_and_computes_on) {
  if (is("child_rtc")) GTEST_SKIP() << "child_rtc refuses promises";
  if (is("continuation_stalling")) GTEST_SKIP() << "a task that waits goes on on its own worker there";
  const outcome o = job([](tobi::runtime&) { return tobi::run([] { return set_ten(0, nullptr); }) == 10 ? 0 : 1; });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, "");
  EXPECT_EQ(shared()->leaves, 10);
  for (int i = 0; i < 10; ++i)
    EXPECT_LT(shared()->began[static_cast<std::size_t>(i)], shared()->long_leaf_ended) << "waiter " << i;
}

// The same with one promise for which all wait: the list that its setter has spreads over the idle workers.
TEST_P(coarse_programs, a_task_that_wakes_ten_and_computes_on) {
  if (is("child_rtc")) GTEST_SKIP() << "child_rtc refuses promises";
  if (is("continuation_stalling")) GTEST_SKIP() << "a task that waits goes on on its own worker there";
  const outcome o = job([](tobi::runtime&) {
    tobi::run([] {
      const auto promise = tobi::make_promise<void>(10);
      auto waiters = tobi::spawn([promise] {
        tobi::parallel_for(0, 10, 1, [promise](int i) {
          promise.get_future().join();
          shared()->happened(shared()->began[static_cast<std::size_t>(i)]);
          leaf();
        });
      });
      promise.set();
      coarse::sleep_ms(10 * leaf_ms);
      shared()->happened(shared()->long_leaf_ended);
      waiters.join();
    });
    return 0;
  });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, "");
  EXPECT_EQ(shared()->leaves, 10);
  for (int i = 0; i < 10; ++i)
    EXPECT_LT(shared()->began[static_cast<std::size_t>(i)], shared()->long_leaf_ended) << "waiter " << i;
}

INSTANTIATE_TEST_SUITE_P(under, coarse_programs,
                         testing::Values(way{"continuation_greedy", "steal_word", "shm", "1"},
                                         way{"continuation_greedy", "steal_word", "sim", "2"},
                                         way{"continuation_greedy", "the", "shm", "1"},
                                         way{"continuation_stalling", "steal_word", "shm", "1"},
                                         way{"child_full", "steal_word", "shm", "1"},
                                         way{"child_rtc", "steal_word", "shm", "1"}),
                         [](const testing::TestParamInfo<way>& i) {
                           return std::string(i.param.sched) + "_" + i.param.deque + "_" + i.param.transport;
                         });

}  // namespace
