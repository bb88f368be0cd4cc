// SPDX-License-Identifier: Apache-2.0
// Task collections in jobs: each task is executed once per process(), over each kind of fabric, whoever adds it; what
// restore() gives back; and their mistakes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/jobs/in_job.hpp"

namespace {

using fabric_settings = std::vector<std::pair<const char*, const char*>>;

struct way {
  const char* name;
  int workers;
  fabric_settings env;
  tobi::steal_by by = tobi::steal_by::automatic;
};
tobi::steal_by by_now = tobi::steal_by::automatic;
tobi::collection_options with(tobi::collection_options how = {}) {
  how.by = by_now;
  return how;
}

// What all workers see: how often each task was executed.
struct tally {
  static constexpr std::size_t most = 20'000;
  std::atomic<std::uint32_t> times[most];
  std::atomic<std::uint64_t> by_rank[64];
};
tally* shared_tally() {
  void* at = mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : new (at) tally{};
}

struct item {
  std::uint32_t number;
  std::uint32_t children;  // that it adds, numbered behind it
};

struct here {
  tally* counts;
  int rank;
  unsigned spins = 0;
  bool throws = false;
};
using collection = tobi::task_collection<item, here>;

void work_on(const item& task, const collection::context& at) {
  at.local().counts->times[task.number].fetch_add(1, std::memory_order_relaxed);
  at.local().counts->by_rank[at.local().rank].fetch_add(1, std::memory_order_relaxed);
  for (volatile unsigned i = 0; i < at.local().spins;) i = i + 1;
  // A binary tree of them: the first child has half of the rest.
  if (task.children == 0) return;
  const std::uint32_t left = (task.children - 1) / 2;
  at.add({task.number + 1, left});
  if (task.children > 1) at.add({task.number + 2 + left, task.children - 2 - left});
}

bool all_are(const tally& t, std::size_t count, std::uint32_t times) {
  for (std::size_t i = 0; i < count; ++i) {
    if (t.times[i].load() != times) return false;
  }
  return true;
}

class collections : public testing::TestWithParam<way> {
 protected:
  template <class Body>
  void expect_zero(Body body) {
    tally* counts = shared_tally();
    ASSERT_NE(counts, nullptr);
    by_now = GetParam().by;
    const outcome o = in_job(
        GetParam().workers, {}, [&](tobi::runtime& rt) { return body(rt, counts); }, GetParam().env);
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
    munmap(counts, sizeof *counts);
  }
};

TEST_P(collections, each_task_is_executed_once_wherever_it_was_added) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank(), 300};
    collection tasks(work_on, mine, with());
    constexpr std::uint32_t each = 500;
    for (std::uint32_t i = 0; i < each; ++i) tasks.add({static_cast<std::uint32_t>(rt.rank()) * each + i, 0});
    tasks.process();
    CHECK(all_are(*counts, static_cast<std::size_t>(rt.size()) * each, 1));
    return 0;
  });
}

TEST_P(collections, tasks_of_one_worker_are_shared_out) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank(), 3000};
    collection tasks(work_on, mine, with());
    constexpr std::uint32_t all = 2000;
    for (std::uint32_t i = 0; rt.rank() == 0 && i < all; ++i) tasks.add({i, 0});
    tasks.process();
    CHECK(all_are(*counts, all, 1));
    CHECK(tasks.counted().executed == counts->by_rank[rt.rank()].load());
    CHECK(rt.rank() == 0 || tasks.counted().stolen >= tasks.counted().steals);
    return 0;
  });
}

TEST_P(collections, tasks_add_tasks) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank(), 100};
    collection tasks(work_on, mine, with());
    constexpr std::uint32_t all = 3000;
    if (rt.rank() == rt.size() - 1) tasks.add({0, all - 1});
    for (std::uint32_t round = 1; round <= 3; ++round) {
      tasks.process();
      CHECK(all_are(*counts, all, round));
      tasks.restore();
    }
    return 0;
  });
}

TEST_P(collections, a_ring_that_is_too_small_loses_nothing) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank(), 100};
    for (const std::size_t capacity : {1u, 2u, 7u}) {
      for (auto& t : counts->times) t.store(0);
      rt.barrier();
      collection tasks(work_on, mine, with({.capacity = capacity}));
      constexpr std::uint32_t all = 400;
      if (rt.rank() == 0) tasks.add({0, all - 1});
      for (std::uint32_t i = 0; i < 50; ++i) tasks.add({all + static_cast<std::uint32_t>(rt.rank()) * 50 + i, 0});
      tasks.process();
      CHECK(all_are(*counts, all + static_cast<std::size_t>(rt.size()) * 50, 1));
      rt.barrier();
    }
    return 0;
  });
}

TEST_P(collections, what_was_executed_here_is_given_back) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank(), 1000};
    collection tasks(work_on, mine, with());
    constexpr std::uint32_t all = 1000;
    for (std::uint32_t i = 0; rt.rank() == 0 && i < all; ++i) tasks.add({i, 0});
    for (std::uint32_t round = 1; round <= 6; ++round) {
      tasks.process();
      CHECK(all_are(*counts, all, round));
      tasks.restore();
    }
    return 0;
  });
}

TEST_P(collections, without_steals_each_executes_its_own) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank(), 10};
    collection tasks(work_on, mine, with({.retains = false, .steals = false}));
    const auto own = static_cast<std::uint32_t>(rt.rank() + 1) * 10;
    for (std::uint32_t i = 0; i < own; ++i) tasks.add({static_cast<std::uint32_t>(rt.rank()) * 1000 + i, 0});
    for (std::uint64_t round = 1; round <= 3; ++round) {
      tasks.process();
      CHECK(counts->by_rank[rt.rank()].load() == own * round);
      CHECK(tasks.counted().executed == own && tasks.counted().attempted_steals == 0);
      tasks.restore();
    }
    return 0;
  });
}

TEST_P(collections, a_task_that_throws_ends_the_processing_on_all) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank(), 100};
    mine.throws = true;
    const auto thrower = [](const item& task, const collection::context& at) {
      if (task.number == 77 && at.local().throws) throw std::out_of_range("the tile is outside");
      work_on(task, at);
    };
    collection tasks(thrower, mine, with());
    for (std::uint32_t i = 0; i < 300; ++i) tasks.add({i, 0});
    bool caught = false;
    try {
      tasks.process();
    } catch (const tobi::task_error& e) {
      caught = e.type_name() == "std::out_of_range" && e.message() == "the tile is outside";
    }
    CHECK(caught);
    // Nothing is lost: what was executed, what threw and what was not begun comes back.
    mine.throws = false;
    rt.barrier();
    for (std::size_t i = 0; rt.rank() == 0 && i < tally::most; ++i) counts->times[i].store(0);
    rt.barrier();
    tasks.restore();
    tasks.process();
    CHECK(all_are(*counts, 300, static_cast<std::uint32_t>(rt.size())));
    // The collection is as good as new.
    tasks.clear();
    rt.barrier();
    for (std::size_t i = 0; rt.rank() == 0 && i < tally::most; ++i) counts->times[i].store(0);
    rt.barrier();
    for (std::uint32_t i = 0; i < 70; ++i) tasks.add({i, 0});
    tasks.process();
    CHECK(counts->times[7].load() == static_cast<std::uint32_t>(rt.size()));
    return 0;
  });
}

TEST_P(collections, two_of_them_and_two_functions) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank(), 100};
    collection one(work_on, mine, with());
    {
      collection two(work_on, mine, with());
      const std::uint32_t twice = two.add_function([](const item& task, const collection::context& at) {
        at.local().counts->times[task.number].fetch_add(2, std::memory_order_relaxed);
      });
      for (std::uint32_t i = 0; rt.rank() == 0 && i < 100; ++i) {
        one.add({i, 0});
        two.add({i, 0});
        two.add({i, 0}, twice);
      }
      one.process();
      two.process();
      CHECK(all_are(*counts, 100, 4));
    }
    one.restore();
    one.process();
    CHECK(all_are(*counts, 100, 5));
    return 0;
  });
}

TEST_P(collections, tasks_see_global_memory) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    struct shared {
      tobi::global_span<std::uint64_t> numbers;
    };
    shared mine{tobi::allocate_all<std::uint64_t>(4096)};
    (void)counts;
    using on_numbers = tobi::task_collection<item, shared>;
    on_numbers tasks(
        [](const item& task, const on_numbers::context& at) {
          auto part = tobi::checkout(at.local().numbers.subspan(task.number * 64, 64), tobi::mode::read_write);
          for (std::uint64_t& n : part) n += 1 + task.number;
        },
        mine, with());
    if (rt.rank() == 0) {
      auto all = tobi::checkout(mine.numbers, tobi::mode::write);
      for (std::uint64_t& n : all) n = 5;
    }
    for (std::uint32_t i = 0; i < 64; ++i) {
      if (static_cast<int>(i) % rt.size() == rt.rank()) tasks.add({i, 0});
    }
    for (int round = 0; round < 3; ++round) {
      tasks.process();
      tasks.restore();
    }
    {
      auto all = tobi::checkout(mine.numbers, tobi::mode::read);
      for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == 5 + 3 * (1 + i / 64));
    }
    tobi::free_all(mine.numbers);
    return 0;
  });
}

// --- in tobi::run -------------------------------------------------------------------------------------------

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

TEST_P(collections, are_processed_by_a_task_of_a_run) { expect_zero(process_in_a_run); }

class in_a_run : public testing::TestWithParam<fabric_settings> {};
TEST_P(in_a_run, any_scheduler_whose_tasks_can_wait_pauses) {
  tally* counts = shared_tally();
  ASSERT_NE(counts, nullptr);
  by_now = tobi::steal_by::automatic;
  const outcome o = in_job(
      4, {}, [&](tobi::runtime& rt) { return process_in_a_run(rt, counts); }, GetParam());
  EXPECT_EQ(o.status, 0) << o.said;
  munmap(counts, sizeof *counts);
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
TEST_P(collections, in_a_run_see_its_global_memory) {
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

TEST_P(collections, in_a_run_a_task_that_throws_is_caught_by_the_one_that_asked) {
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

// --- mistakes: one sentence, and the job ends with status 2 -------------------------------------------------

template <class Body>
void expect_refused(const char* sentence, Body body) {
  const outcome o = in_job(2, {}, [&](tobi::runtime& rt) {
    static here mine{};
    mine.rank = rt.rank();
    body(rt, mine);
    return 0;
  });
  EXPECT_EQ(o.status, 2) << o.said;
  EXPECT_NE(o.said.find(sentence), std::string::npos) << o.said;
}
void nothing(const item&, const collection::context&) {}

TEST(a_collection, takes_no_task_between_process_and_restore) {
  expect_refused("a task was added to a collection whose process() has ended; call restore() or clear() first.",
                 [](tobi::runtime&, here& mine) {
                   collection tasks(nothing, mine);
                   tasks.process();
                   tasks.add({0, 0});
                 });
}
TEST(a_collection, is_not_processed_twice) {
  expect_refused("process() was called again on a collection that holds what it has executed",
                 [](tobi::runtime&, here& mine) {
                   collection tasks(nothing, mine);
                   tasks.process();
                   tasks.process();
                 });
}
TEST(a_collection, is_not_processed_in_a_task_of_another) {
  expect_refused("tobi::task_collection::process was called inside a task of a collection",
                 [](tobi::runtime&, here& mine) {
                   static collection* inner = nullptr;
                   collection one(nothing, mine);
                   inner = &one;
                   collection two([](const item&, const collection::context&) { inner->process(); }, mine);
                   two.add({0, 0});
                   two.process();
                 });
}
TEST(a_collection, is_not_processed_in_a_run) {
  expect_refused("tobi::task_collection::process was called inside a task; it is for all ranks, outside of tobi::run.",
                 [](tobi::runtime&, here& mine) {
                   static collection* outer = nullptr;
                   collection tasks(nothing, mine);
                   outer = &tasks;
                   tobi::run([] { outer->process(); });
                 });
}
TEST(a_collection, is_asked_for_by_one_task_at_a_time) {
  expect_refused("tobi::collection_handle::process was called by two tasks at once", [](tobi::runtime&, here& mine) {
    collection tasks(nothing, mine);
    tobi::run([handle = tasks.handle()] {
      auto other = tobi::spawn([=] { handle.process(); });
      handle.process();
      other.join();
    });
  });
}
TEST(a_collection, is_asked_for_by_a_task_that_the_root_waits_for) {
  expect_refused("the root of tobi::run has ended while one of its tasks processes a task collection; join that task.",
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
TEST(a_collection, has_a_capacity_that_fits) {
  expect_refused("a task collection has a capacity of 0 tasks per worker; choose 1 to 1048575.",
                 [](tobi::runtime&, here& mine) { collection tasks(nothing, mine, {.capacity = 0}); });
}
TEST(a_collection, is_alike_on_all_workers) {
  expect_refused("the workers make a task collection that differs", [](tobi::runtime& rt, here& mine) {
    collection tasks(nothing, mine, {.capacity = rt.rank() == 0 ? 10u : 20u});
  });
}
TEST(a_collection, is_made_by_all) {
  expect_refused("in the constructor of tobi::task_collection", [](tobi::runtime& rt, here& mine) {
    if (rt.rank() == 0) {
      collection tasks(nothing, mine);
    } else {
      rt.barrier();
    }
  });
}
TEST(a_collection, has_room_in_the_heap) {
  const outcome o = in_job(2, {{"TOBI_HEAP_SIZE", "16M"}}, [](tobi::runtime& rt) {
    here mine{nullptr, rt.rank()};
    collection tasks(nothing, mine, {.capacity = 1'000'000});
    return 0;
  });
  EXPECT_EQ(o.status, 1) << o.said;
  EXPECT_NE(o.said.find("no room for a collection of 1000000 tasks per worker"), std::string::npos) << o.said;
}
TEST(a_collection, does_not_fork) {
  expect_refused("tobi::spawn (or async, parallel_for, an algorithm)", [](tobi::runtime&, here& mine) {
    collection tasks([](const item&, const collection::context&) { tobi::spawn([] { return 1; }).join(); }, mine);
    tasks.add({0, 0});
    tasks.process();
  });
}

TEST(a_collection, outlives_no_runtime) {
  const outcome o = in_child([] {
    static here mine{};
    collection tasks(nothing, mine);
  });
  EXPECT_EQ(o.status, 2) << o.said;
  EXPECT_NE(o.said.find("a tobi::task_collection was made without a tobi::runtime alive"), std::string::npos) << o.said;
}
TEST(a_collection, ends_with_a_worker_that_is_killed_in_it) {
  const outcome o = in_job(4, {}, [](tobi::runtime& rt) {
    here mine{nullptr, rt.rank()};
    collection tasks(
        [](const item&, const collection::context& at) {
          if (at.local().rank == 2) raise(SIGKILL);
          const timespec leaf{0, 1'000'000};
          nanosleep(&leaf, nullptr);
        },
        mine);
    for (std::uint32_t i = 0; i < 500; ++i) tasks.add({i, 0});
    tasks.process();
    return 0;
  });
  EXPECT_NE(o.status, 0) << o.said;
  EXPECT_NE(o.said.find("rank 2"), std::string::npos) << o.said;
}

// A long task hides none of those that its worker has kept to itself.
TEST(a_collection, spreads_coarse_tasks_of_one_worker) {
  tally* counts = shared_tally();
  ASSERT_NE(counts, nullptr);
  const outcome o = in_job(8, {}, [&](tobi::runtime& rt) {
    here mine{counts, rt.rank()};
    // Many short tasks first, so that a worker thinks that it may keep some.
    collection tasks(
        [](const item& task, const collection::context& at) {
          if (task.number >= 1000) {
            const timespec leaf{0, 100'000'000};
            nanosleep(&leaf, nullptr);
          }
          work_on(task, at);
        },
        mine);
    for (std::uint32_t i = 0; rt.rank() == 0 && i < 8; ++i) tasks.add({1000 + i, 0});
    for (std::uint32_t i = 0; rt.rank() == 0 && i < 1000; ++i) tasks.add({i, 0});
    tasks.process();
    CHECK(all_are(*counts, 1008, 1));
    return 0;
  });
  EXPECT_EQ(o.status, 0) << o.said;
  // With luck eight; one worker that had kept them all would have executed them all.
  int by = 0;
  for (int r = 0; r < 8; ++r) by += counts->by_rank[r].load() != 0 ? 1 : 0;
  EXPECT_GE(by, 4);
  munmap(counts, sizeof *counts);
}

INSTANTIATE_TEST_SUITE_P(
    over, collections,
    testing::ValuesIn(some_of<way>(
        {way{"one_worker", 1, {}}, way{"shm", 4, {}}, way{"shm_many", 16, {}},
         way{"sim", 4, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}}},
         way{"sim_manual", 2, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "manual"}, {"TOBI_NODES", "2"}}},
         way{"sim_nochain", 3, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "nochain"}, {"TOBI_NODES", "3"}}},
         way{"ofi", 4, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}}},
         way{"ofi_inline", 3, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "3"}, {"TOBI_AMO_SERVER", "inline"}}},
         way{"ofi_server", 4, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}, {"TOBI_AMO_SERVER", "worker"}}},
         way{"shm_asking", 4, {}, tobi::steal_by::messages}, way{"shm_many_asking", 16, {}, tobi::steal_by::messages},
         way{"sim_asking", 4, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}}, tobi::steal_by::messages},
         way{"sim_manual_asking",
             3,
             {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "manual,depth1"}, {"TOBI_NODES", "3"}},
             tobi::steal_by::messages},
         way{"ofi_asking", 3, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "3"}}, tobi::steal_by::messages},
         way{"ofi_inline_one_sided",
             3,
             {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "3"}, {"TOBI_AMO_SERVER", "inline"}},
             tobi::steal_by::one_sided},
         way{"ofi_server_asking",
             4,
             {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}, {"TOBI_AMO_SERVER", "worker"}},
             tobi::steal_by::messages}},
        {"one_worker", "shm_many", "sim", "sim_manual", "ofi_inline", "ofi_server", "shm_many_asking",
         "sim_manual_asking"})),
    [](const auto& p) { return std::string(p.param.name); });

}  // namespace
