// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 8 s
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

#include "tests/jobs/adding_collection.hpp"

namespace {

using namespace tallied;

class collections : public over_a_fabric {};

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

// --- mistakes: one sentence, and the job ends with status 2 -------------------------------------------------

template <class Body>
void expect_refused(const char* sentence, Body body) {
  tallied::expect_refused<here>(sentence, body);
}

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

// A long task hides none of those that its worker has kept to itself: eight that wait for each other end.
TEST(a_collection, spreads_coarse_tasks_of_one_worker) {
  tally* counts = shared_tally();
  ASSERT_NE(counts, nullptr);
  static std::atomic<int>* begun = nullptr;
  void* const page = mmap(nullptr, sizeof *begun, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  begun = new (page) std::atomic<int>{0};
  const outcome o = in_job(8, {}, [&](tobi::runtime& rt) {
    here mine{counts, rt.rank()};
    // Many short tasks first, so that a worker thinks that it may keep some.
    collection tasks(
        [](const item& task, const collection::context& at) {
          if (task.number >= 1000) {
            const timespec moment{0, 1'000'000};
            for (++*begun; *begun < 8;) nanosleep(&moment, nullptr);
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
  munmap(counts, sizeof *counts);
  munmap(page, sizeof *begun);
}

INSTANTIATE_TEST_SUITE_P(over, collections, testing::ValuesIn(ways()),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
