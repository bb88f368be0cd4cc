// SPDX-License-Identifier: Apache-2.0
// lane: computes, 12 s
// Programs whose leaves wait for each other: as many leaves as workers, and none ends before all have begun. A leaf
// that nobody can reach while the others run holds up the whole job, however fast the machine is, so these tests find
// hidden work without a clock: then no leaf ends.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <ostream>
#include <string>

#include "tests/jobs/in_job.hpp"

namespace {

// Known to all workers: mapped before they are forked.
struct board {
  std::atomic<int> begun{0};
};
board* shared() {
  static auto* const at =
      new (mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) board;
  return at;
}

// Begins, and ends when ALL have begun.
void leaf(int all) {
  shared()->begun++;
  while (shared()->begun % all != 0) {
    const timespec nap{0, 1'000'000};
    nanosleep(&nap, nullptr);
  }
}

struct way {
  const char* name;
  const char* sched;
  const char* deque;
  const char* transport;
  const char* nodes;
  int workers;
  bool waits_tied;  // a task that waits goes on on its own worker
};
void PrintTo(const way& w, std::ostream* to) { *to << w.name; }

class rendezvous : public testing::TestWithParam<way> {
 protected:
  template <class Program>
  static void expect_all_meet(Program program) {
    const way& w = GetParam();
    new (shared()) board;
    const outcome o = in_job(w.workers,
                             {{"TOBI_SCHED", w.sched},
                              {"TOBI_DEQUE", w.deque},
                              {"TOBI_TRANSPORT", w.transport},
                              {"TOBI_NODES", w.nodes},
                              {"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"}},
                             [=](tobi::runtime& rt) {
                               const int all = rt.size();
                               for (int run = 1; run <= 3; ++run) {
                                 tobi::run([=] { program(all); });
                                 if (shared()->begun != run * all) return 1;
                                 rt.barrier();  // nobody begins the next before all have seen that
                               }
                               return 0;
                             });
    EXPECT_EQ(o.status, 0) << o.said << shared()->begun << " leaves had begun";
    EXPECT_EQ(o.said, "");
  }
};

void tree(int leaves, int all) {
  if (leaves == 1) return leaf(all);
  auto left = tobi::spawn([=] { tree(leaves / 2, all); });
  tree(leaves - leaves / 2, all);
  left.join();
}
TEST_P(rendezvous, of_a_tree) {
  expect_all_meet([](int all) { tree(all, all); });
}

TEST_P(rendezvous, of_a_loop) {
  expect_all_meet([](int all) { tobi::parallel_for(0, all, 1, [=](int) { leaf(all); }); });
}

TEST_P(rendezvous, of_asyncs) {
  expect_all_meet([](int all) {
    tobi::finish([=] {
      for (int i = 0; i < all; ++i) tobi::async([=] { leaf(all); });
    });
  });
}

void line(int leaves, int all) {
  if (leaves == 1) return leaf(all);
  auto rest = tobi::spawn([=] { line(leaves - 1, all); });
  leaf(all);
  rest.join();
}
TEST_P(rendezvous, of_a_recursion_that_forks_itself) {
  expect_all_meet([](int all) { line(all, all); });
}

// One task sets more promises than a worker has words to show lists in, and has a leaf of its own then.
struct promised {
  tobi::promise<void> promise;
  const promised* before;
};
void set_all(int waiters, int all, const promised* last) {
  if (waiters == 0) {
    for (; last != nullptr; last = last->before) last->promise.set();
    return leaf(all);
  }
  const promised mine{tobi::make_promise<void>(), last};
  auto waiter = tobi::spawn([all, value = mine.promise.get_future()] {
    value.join();
    leaf(all);
  });
  set_all(waiters - 1, all, &mine);
  waiter.join();
}
TEST_P(rendezvous, of_tasks_that_one_task_awakens) {
  if (GetParam().waits_tied) GTEST_SKIP() << "a task that waits goes on on its own worker there";
  expect_all_meet([](int all) { set_all(all - 1, all, nullptr); });
}

// The same with one promise for which all wait.
TEST_P(rendezvous, of_tasks_that_wait_for_one_promise) {
  if (GetParam().waits_tied) GTEST_SKIP() << "a task that waits goes on on its own worker there";
  expect_all_meet([](int all) {
    const auto promise = tobi::make_promise<void>(tobi::any_number);
    auto waiters = tobi::spawn([=] {
      tobi::parallel_for(1, all, 1, [=](int) {
        promise.get_future().join();
        leaf(all);
      });
    });
    promise.set();
    leaf(all);
    waiters.join();
  });
}

INSTANTIATE_TEST_SUITE_P(under, rendezvous,
                         testing::Values(way{"greedy_shm", "continuation_greedy", "steal_word", "shm", "1", 32, false},
                                         way{"greedy_sim", "continuation_greedy", "steal_word", "sim", "2", 20, false},
                                         way{"greedy_ofi", "continuation_greedy", "steal_word", "ofi", "2", 20, false},
                                         way{"the_shm", "continuation_greedy", "the", "shm", "1", 32, false},
                                         way{"the_ofi", "continuation_greedy", "the", "ofi", "2", 8, false},
                                         way{"stalling_shm", "continuation_stalling", "steal_word", "shm", "1", 32,
                                             true},
                                         way{"child_full_shm", "child_full", "steal_word", "shm", "1", 32, true},
                                         way{"child_full_ofi", "child_full", "steal_word", "ofi", "2", 8, true},
                                         way{"child_rtc_shm", "child_rtc", "steal_word", "shm", "1", 32, true}),
                         [](const testing::TestParamInfo<way>& i) { return i.param.name; });

}  // namespace
