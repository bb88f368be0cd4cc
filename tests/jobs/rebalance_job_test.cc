// SPDX-License-Identifier: Apache-2.0
// lane: computes, 5 s
// rebalance() in jobs, over each kind of fabric: no task is lost or doubled, wherever tasks were and however many there
// are, by both balancers; that they go where little is to do; and the mistakes of its callers.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/jobs/tallied_collections.hpp"

namespace {

using namespace tallied;

// A descriptor that would show if bytes of it went astray.
struct item {
  std::uint32_t number;
  std::uint32_t spins;
  std::uint64_t check[3];

  static item of(std::uint32_t number, std::uint32_t spins) {
    return {number, spins, {number * 3ull, ~std::uint64_t{number}, spins + 7ull}};
  }
  [[nodiscard]] bool is_whole() const {
    return check[0] == number * 3ull && check[1] == ~std::uint64_t{number} && check[2] == spins + 7ull;
  }
};

struct here {
  tally* counts;
  int rank;
  bool throws = false;
};
using collection = tobi::task_collection<item, here>;

void work_on(const item& task, const collection::context& at) {
  if (!task.is_whole()) at.local().counts->damaged.fetch_add(1);
  at.local().counts->times[task.number].fetch_add(1, std::memory_order_relaxed);
  at.local().counts->by_rank[at.local().rank].fetch_add(1, std::memory_order_relaxed);
  for (volatile unsigned i = 0; i < task.spins;) i = i + 1;
}

const tobi::balance_options central{.how = tobi::balancer::central};
const std::vector<tobi::balance_options> each_way{central,
                                                  {},
                                                  {.branching = 2},
                                                  {.branching = 7, .c = 1, .d = 1, .bins_per_doubling = 1},
                                                  {.branching = 1024, .c = 1.5, .d = 2, .bins_per_doubling = 256}};

class rebalance : public over_a_fabric {};

// Without steals, so that only rebalance() can have moved them.
TEST_P(rebalance, shares_out_what_one_worker_has) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    std::uint32_t times = 0;
    for (const tobi::balance_options& how : each_way) {
      here mine{counts, rt.rank()};
      collection tasks(work_on, mine, {.steals = false});
      constexpr std::uint32_t all = 600;
      for (std::uint32_t i = 0; rt.rank() == rt.size() - 1 && i < all; ++i) tasks.add(item::of(i, 300 + i * 5));
      tasks.process();
      CHECK(all_are(*counts, all, ++times));
      const std::uint64_t before = counts->by_rank[rt.rank()].load();
      rt.barrier();
      tasks.rebalance(how);
      const tobi::balance_statistics what = tasks.balanced();
      // Of what serves others alone nothing is expected but that it gives away what it has.
      const int computing = rt.computing();
      CHECK(what.imbalance_before > computing - 0.01 && what.imbalance_before < computing + 0.01);
      CHECK(what.imbalance_after <= what.imbalance_before && what.imbalance_after > 0.99);
      CHECK((computing == 1 && computing == rt.size()) == (what.moved == 0));
      CHECK(what.moved < all || computing < rt.size());
      CHECK(what.moved == 0 || (what.messages != 0 && what.moved_bytes >= what.moved * sizeof(item)));
      tasks.process();
      CHECK(all_are(*counts, all, ++times));
      const std::uint64_t done = counts->by_rank[rt.rank()].load() - before;
      CHECK(done == tasks.counted().executed);
      CHECK(done < all || rt.size() == 1 || computing < rt.size());
      rt.barrier();
    }
    return 0;
  });
}

TEST_P(rebalance, round_after_round_loses_nothing) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank()};
    collection tasks(work_on, mine);
    // From none to many, on some ranks, and each third a hundred times as long.
    std::uint32_t all = 0;
    for (int r = 0; r < rt.size(); ++r) {
      for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(r % 3) * 100; ++i, ++all) {
        if (r == rt.rank()) tasks.add(item::of(all, i % 3 == 0 ? 5000 : 50));
      }
    }
    std::uint32_t times = 0;
    for (int round = 0; round < 2; ++round) {
      for (const tobi::balance_options& how : each_way) {
        tasks.process();
        CHECK(all_are(*counts, all, ++times));
        rt.barrier();
        tasks.rebalance(how);
      }
      tasks.process();
      CHECK(all_are(*counts, all, ++times));
      rt.barrier();
      tasks.restore();
    }
    return 0;
  });
}

TEST_P(rebalance, of_few_tasks_and_of_none) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank()};
    std::uint32_t times = 0;
    for (const std::uint32_t all : {0u, 1u, 2u, 3u}) {
      for (const tobi::balance_options& how : each_way) {
        for (auto& t : counts->times) t.store(0);
        rt.barrier();
        collection tasks(work_on, mine, {.steals = false});
        for (std::uint32_t i = 0; rt.rank() == 0 && i < all; ++i) tasks.add(item::of(i, 1000));
        times = 0;
        for (int round = 0; round < 3; ++round) {
          tasks.process();
          CHECK(all_are(*counts, all, ++times));
          rt.barrier();
          tasks.rebalance(how);
          CHECK(all != 0 || (tasks.balanced().moved == 0 && tasks.balanced().imbalance_after == 1));
        }
        rt.barrier();
      }
    }
    return 0;
  });
}

TEST_P(rebalance, into_rings_that_are_too_small) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank()};
    for (const std::size_t capacity : {1u, 7u}) {
      for (const bool steals : {true, false}) {
        rt.barrier();
        for (std::size_t i = 0; rt.rank() == 0 && i < tally::most; ++i) counts->times[i].store(0);
        rt.barrier();
        collection tasks(work_on, mine, {.capacity = capacity, .steals = steals});
        constexpr std::uint32_t all = 1000;
        for (std::uint32_t i = 0; rt.rank() == 0 && i < all; ++i) tasks.add(item::of(i, 200));
        for (std::uint32_t round = 1; round <= 3; ++round) {
          tasks.process();
          CHECK(all_are(*counts, all, round));
          rt.barrier();
          tasks.rebalance();
        }
      }
    }
    return 0;
  });
}

// What rebalance() gives a worker is what was added to it: restore() gives back just that, whoever executes it.
TEST_P(rebalance, of_a_collection_that_does_not_retain) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank()};
    collection tasks(work_on, mine, {.retains = false});
    constexpr std::uint32_t all = 400;
    for (std::uint32_t i = 0; rt.rank() == 0 && i < all; ++i) tasks.add(item::of(i, 500));
    std::uint32_t times = 0;
    for (int round = 0; round < 2; ++round) {
      tasks.process();
      CHECK(all_are(*counts, all, ++times));
      rt.barrier();
      tasks.rebalance(round == 0 ? tobi::balance_options{} : central);
      tasks.process();
      CHECK(all_are(*counts, all, ++times));
      rt.barrier();
      tasks.restore();
    }
    tasks.process();
    CHECK(all_are(*counts, all, ++times));
    return 0;
  });
}

TEST_P(rebalance, behind_a_task_that_has_thrown) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank(), true};
    const auto thrower = [](const item& task, const collection::context& at) {
      if (task.number == 77 && at.local().throws) throw std::out_of_range("the tile is outside");
      work_on(task, at);
    };
    for (const tobi::balance_options& how : each_way) {
      mine.throws = true;
      collection tasks(thrower, mine);
      constexpr std::uint32_t all = 500;
      for (std::uint32_t i = 0; rt.rank() == 0 && i < all; ++i) tasks.add(item::of(i, 100));
      bool caught = false;
      try {
        tasks.process();
      } catch (const tobi::task_error&) {
        caught = true;
      }
      CHECK(caught);
      mine.throws = false;
      rt.barrier();
      for (std::size_t i = 0; rt.rank() == 0 && i < tally::most; ++i) counts->times[i].store(0);
      rt.barrier();
      tasks.rebalance(how);
      tasks.process();
      CHECK(all_are(*counts, all, 1));
      rt.barrier();
    }
    return 0;
  });
}

// Tasks that tasks have added are added again by these.
TEST_P(rebalance, of_tasks_that_add_tasks) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank()};
    const auto parent = [](const item& task, const collection::context& at) {
      work_on(task, at);
      if (task.number % 10 == 0) {
        for (std::uint32_t i = 1; i < 10; ++i) at.add(item::of(task.number + i, 100));
      }
    };
    collection tasks(parent, mine);
    constexpr std::uint32_t all = 1000;
    for (std::uint32_t i = 0; rt.rank() == 0 && i < all; i += 10) tasks.add(item::of(i, 100));
    for (std::uint32_t round = 1; round <= 4; ++round) {
      tasks.process();
      CHECK(all_are(*counts, all, round));
      rt.barrier();
      tasks.rebalance();
    }
    // And what is added behind it is executed with the rest.
    const std::uint32_t late = all + 1 + static_cast<std::uint32_t>(rt.rank());  // none of the tasks that add
    tasks.add(item::of(late, 1));
    tasks.process();
    CHECK(all_are(*counts, all, 5));
    CHECK(counts->times[late].load() == 1);
    return 0;
  });
}

// Long tasks are told from short ones: a worker that has the only long one gives the short ones away.
TEST_P(rebalance, by_the_time_that_tasks_took) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    here mine{counts, rt.rank()};
    collection tasks(work_on, mine, {.steals = false});
    constexpr std::uint32_t all = 101;
    for (std::uint32_t i = 0; rt.rank() == 0 && i < all; ++i) tasks.add(item::of(i, i == 50 ? 30'000'000 : 100));
    tasks.process();
    rt.barrier();
    tasks.rebalance();
    for (auto& r : counts->by_rank) r.store(0);
    rt.barrier();
    tasks.process();
    CHECK(all_are(*counts, all, 2));
    // The long one takes longer than the short ones of all others, whatever the machine does.
    if (rt.size() > 1 && rt.computing() == rt.size()) CHECK(rt.rank() != 0 || tasks.counted().executed == 1);
    return 0;
  });
}

// Random numbers of tasks of random lengths, on ranks and rounds that have some, with random options.
TEST_P(rebalance, of_what_is_random) {
  expect_zero([](tobi::runtime& rt, tally* counts) {
    constexpr std::uint32_t seed = 20120618;
    std::mt19937 random(seed);
    const auto alike = [&] { return static_cast<std::uint32_t>(random()); };  // on all ranks
    for (int one = 0; one < 12; ++one) {
      here mine{counts, rt.rank()};
      const std::size_t capacity = 1 + alike() % 500;
      collection tasks(work_on, mine, {.capacity = capacity, .retains = alike() % 4 != 0, .steals = alike() % 2 == 0});
      rt.barrier();
      for (std::size_t i = 0; rt.rank() == 0 && i < tally::most; ++i) counts->times[i].store(0);
      rt.barrier();
      std::uint32_t all = 0;
      for (int r = 0; r < rt.size(); ++r) {
        for (std::uint32_t i = alike() % 3 == 0 ? 0 : alike() % 300; i != 0; --i, ++all) {
          const std::uint32_t spins = alike() % (1u << alike() % 14);
          if (r == rt.rank()) tasks.add(item::of(all, spins));
        }
      }
      for (std::uint32_t round = 1; round <= 4; ++round) {
        tasks.process();
        if (!all_are(*counts, all, round)) std::fprintf(stderr, "seed %u, collection %d, round %u\n", seed, one, round);
        CHECK(all_are(*counts, all, round));
        rt.barrier();
        tobi::balance_options how;
        how.how = alike() % 4 == 0 ? tobi::balancer::central : tobi::balancer::hierarchical;
        how.branching = 2 + alike() % 6;
        how.c = 1 + (alike() % 50) / 100.0;
        how.d = 1 + (alike() % 50) / 100.0;
        how.bins_per_doubling = 1u << alike() % 9;
        tasks.rebalance(how);
      }
    }
    return 0;
  });
}

// --- mistakes: one sentence, and the job ends with status 2 -------------------------------------------------

template <class Body>
void expect_refused(const char* sentence, Body body) {
  tallied::expect_refused<here>(sentence, body);
}
void nothing(const item&, const collection::context&) {}

constexpr const char* not_processed =
    "rebalance() was called on a collection that was not processed since it was filled; call process() first.";

TEST(a_rebalance, is_behind_process) {
  expect_refused(not_processed, [](tobi::runtime&, here& mine) { collection(nothing, mine).rebalance(); });
}
TEST(a_rebalance, is_done_once) {
  expect_refused(not_processed, [](tobi::runtime&, here& mine) {
    collection tasks(nothing, mine);
    tasks.process();
    tasks.rebalance();
    tasks.rebalance();
  });
}
TEST(a_rebalance, is_in_place_of_restore) {
  expect_refused(not_processed, [](tobi::runtime&, here& mine) {
    collection tasks(nothing, mine);
    tasks.process();
    tasks.restore();
    tasks.rebalance();
  });
}
TEST(a_rebalance, is_of_what_no_worker_has_cleared) {
  expect_refused(not_processed, [](tobi::runtime& rt, here& mine) {
    collection tasks(nothing, mine);
    tasks.process();
    if (rt.rank() == 1) tasks.clear();
    tasks.rebalance();
  });
}
TEST(a_rebalance, is_not_inside_a_task) {
  expect_refused("tobi::task_collection::rebalance was called inside a task of a collection",
                 [](tobi::runtime&, here& mine) {
                   static collection* own = nullptr;
                   collection tasks([](const item&, const collection::context&) { own->rebalance(); }, mine);
                   own = &tasks;
                   tasks.add({});
                   tasks.process();
                 });
}
TEST(a_rebalance, is_not_inside_a_run) {
  expect_refused("tobi::task_collection::rebalance was called inside a task; it is for all ranks",
                 [](tobi::runtime&, here& mine) {
                   static collection* outer = nullptr;
                   collection tasks(nothing, mine);
                   outer = &tasks;
                   tasks.process();
                   tobi::run([] { outer->rebalance(); });
                 });
}
TEST(a_rebalance, is_of_all_workers) {
  expect_refused("in tobi::task_collection::rebalance", [](tobi::runtime& rt, here& mine) {
    collection tasks(nothing, mine);
    tasks.process();
    if (rt.rank() == 0) {
      tasks.rebalance();
    } else {
      rt.barrier();
    }
  });
}
TEST(a_rebalance, has_options_that_can_be) {
  const std::vector<std::pair<tobi::balance_options, const char*>> bad{
      {{.branching = 1}, "was given a branching factor of 1; choose 2 to 1024."},
      {{.branching = 1025}, "was given a branching factor of 1025; choose 2 to 1024."},
      {{.c = 0.5}, "was given a threshold of 0.500000 (c or d); choose 1 to 100."},
      {{.d = std::numeric_limits<double>::quiet_NaN()}, "was given a threshold of nan (c or d); choose 1 to 100."},
      {{.bins_per_doubling = 0}, "was given 0 bins per doubling; choose a power of two up to 256."},
      {{.bins_per_doubling = 12}, "was given 12 bins per doubling; choose a power of two up to 256."},
      {{.bins_per_doubling = 512}, "was given 512 bins per doubling; choose a power of two up to 256."},
      {{.how = static_cast<tobi::balancer>(9)}, "was given a balancer that there is not."}};
  for (const auto& [how, sentence] : bad) {
    expect_refused(sentence, [&how = how](tobi::runtime&, here& mine) {
      collection tasks(nothing, mine);
      tasks.process();
      tasks.rebalance(how);
    });
  }
}
TEST(a_rebalance, has_the_same_options_on_all_workers) {
  expect_refused("the workers call rebalance() with options that differ; give all of them the same balance_options.",
                 [](tobi::runtime& rt, here& mine) {
                   collection tasks(nothing, mine);
                   tasks.process();
                   tasks.rebalance({.c = rt.rank() == 0 ? 1.5 : 1.6});
                 });
}
TEST(a_rebalance, has_room_in_the_heap) {
  struct large {
    char bytes[4096];
  };
  const outcome o = in_job(2, {{"TOBI_HEAP_SIZE", "16M"}}, [](tobi::runtime& rt) {
    here mine{nullptr, rt.rank()};
    using of_large = tobi::task_collection<large, here>;
    of_large tasks([](const large&, const of_large::context&) {}, mine, {.capacity = 16, .steals = false});
    for (int i = 0; rt.rank() == 0 && i < 20'000; ++i) tasks.add({});
    tasks.process();
    tasks.rebalance();
    return 0;
  });
  EXPECT_EQ(o.status, 1) << o.said;
  EXPECT_NE(o.said.find("the registered heap is full: rank "), std::string::npos) << o.said;
  EXPECT_NE(o.said.find(" in rebalance(); raise TOBI_HEAP_SIZE."), std::string::npos) << o.said;
}

// All that a rebalance has taken of the heap it gives back.
TEST(a_rebalance, leaves_nothing_in_the_heap) {
  const outcome o = in_job(3, {{"TOBI_HEAP_SIZE", "16M"}}, [](tobi::runtime& rt) {
    struct large {
      char bytes[2048];
    };
    here mine{nullptr, rt.rank()};
    using of_large = tobi::task_collection<large, here>;
    of_large tasks([](const large&, const of_large::context&) {}, mine, {.capacity = 16});
    // 2.4 MB are packed in each of a hundred rounds, if all move.
    std::uint64_t moved = 0;
    for (int round = 0; round < 100; ++round) {
      for (int i = 0; rt.rank() == round % 3 && i < 1200; ++i) tasks.add({});
      tasks.process();
      tasks.rebalance();
      moved += tasks.balanced().moved_bytes;
      tasks.clear();
    }
    CHECK(moved > 0);
    return 0;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}
TEST(a_rebalance, ends_with_a_worker_that_is_killed_before_it) {
  const outcome o = in_job(4, {}, [](tobi::runtime& rt) {
    here mine{nullptr, rt.rank()};
    collection tasks(nothing, mine);
    for (std::uint32_t i = 0; i < 500; ++i) tasks.add(item::of(i, 0));
    tasks.process();
    if (rt.rank() == 2) raise(SIGKILL);
    tasks.rebalance();
    return 0;
  });
  EXPECT_NE(o.status, 0) << o.said;
  EXPECT_NE(o.said.find("rank 2"), std::string::npos) << o.said;
}

INSTANTIATE_TEST_SUITE_P(
    over, rebalance,
    testing::ValuesIn(some_of<way>(
        {way{"one_worker", 1, {}}, way{"shm_two", 2, {}}, way{"shm", 4, {}}, way{"shm_many", 8, {}},
         way{"sim", 5, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}}},
         way{"sim_manual", 2, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "manual"}, {"TOBI_NODES", "2"}}},
         way{"sim_nochain", 3, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "nochain"}, {"TOBI_NODES", "3"}}},
         way{"ofi", 4, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}}},
         way{"ofi_inline", 3, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "3"}, {"TOBI_AMO_SERVER", "inline"}}},
         way{"ofi_server", 4, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}, {"TOBI_AMO_SERVER", "worker"}}}},
        {"one_worker", "shm_many", "sim_manual", "ofi_inline"})),
    [](const auto& p) { return std::string(p.param.name); });

}  // namespace
