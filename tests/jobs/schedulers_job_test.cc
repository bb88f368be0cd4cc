// SPDX-License-Identifier: Apache-2.0
// What the schedulers of TOBI_SCHED promise apart from right results (task_job_test): where a task goes on, that nobody
// waits in a circle, what is counted, and what is said when something is too small.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "tests/jobs/in_job.hpp"

namespace {

void spin(unsigned rounds) {
  for (volatile unsigned i = 0; i < rounds;) i = i + 1;
}

class schedulers : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static bool steals_children() { return std::string(GetParam()).starts_with("child"); }
  template <class Body>
  static outcome job(int workers, Body body) {
    return in_job(workers, {{"TOBI_SCHED", GetParam()}}, body);
  }
};

INSTANTIATE_TEST_SUITE_P(all, schedulers,
                         testing::Values("continuation_greedy", "continuation_stalling", "child_full", "child_rtc",
                                         "adws"),
                         [](const auto& i) { return std::string(i.param); });

TEST_P(schedulers, the_one_that_was_asked_for_is_at_work) {
  const std::string wanted = GetParam();
  const outcome o = job(2, [&](tobi::runtime& rt) { return rt.sched_name() == wanted ? 0 : 1; });
  EXPECT_EQ(o.status, 0) << o.said;
}

// Answers how many tasks went on in another process than they began in.
std::uint64_t moves(std::uint64_t depth) {
  if (depth == 0) {
    spin(3000);
    return 0;
  }
  const pid_t began = getpid();
  auto child = tobi::spawn([=] { return moves(depth - 1); });
  std::uint64_t below = moves(depth - 1);
  below += child.join();
  return below + (getpid() == began ? 0 : 1);
}

TEST_P(schedulers, a_task_moves_where_continuations_are_stolen_and_nowhere_else) {
  const bool tied = steals_children();
  const outcome o = job(3, [=](tobi::runtime& rt) {
    std::uint64_t moved = 0;
    std::uint64_t steals = 0;
    while (steals < 20 || (!tied && moved == 0)) {
      moved += tobi::run([] { return moves(10); });
      steals = rt.stats().steals_ok;
    }
    return tied == (moved == 0) ? 0 : 1;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

// What tasks of different processes tell each other in the next test: memory that all of them have.
struct signs {
  std::atomic<int> future_runs, x_runs, readers_are_there;
};

// Serves thieves until SIGN is up, or for a while: some schedulers never bring it about.
void serve_until(const std::atomic<int>& sign, std::chrono::milliseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (sign.load() == 0 && std::chrono::steady_clock::now() < end) {
    tobi::poll();
    spin(100);
  }
}

// One worker runs the future's task, another takes x from it, and the root leaves readers of the future for the one
// that waits for x. Under child_rtc that one would take a reader, and bury the very task that the reader waits for.
// Taking out the rule of libcore/sched/child_rtc.hpp makes this test hang.
std::uint64_t readers_and_a_slow_future(signs* shown) {
  using namespace std::chrono_literals;
  constexpr std::uint32_t readers = 20;
  const auto shared = tobi::spawn_future(
      [=] {
        shown->future_runs = 1;
        auto x = tobi::spawn([=] {
          shown->x_runs = 1;
          const std::atomic<int> never = 0;
          serve_until(shown->readers_are_there, 200ms);
          serve_until(never, 20ms);
          return std::uint64_t{1};
        });
        serve_until(shown->x_runs, 200ms);
        serve_until(shown->readers_are_there, 200ms);
        return x.join();
      },
      readers);
  serve_until(shown->future_runs, 200ms);
  serve_until(shown->x_runs, 200ms);
  std::array<tobi::future<std::uint64_t>, readers> read;
  for (auto& r : read) r = tobi::spawn_future([=] { return shared.join(); });
  shown->readers_are_there = 1;
  const std::atomic<int> never = 0;
  serve_until(never, 20ms);
  std::uint64_t sum = 0;
  for (const auto& r : read) sum += r.join();
  return sum;
}

TEST_P(schedulers, nobody_waits_for_a_task_that_is_buried_under_him) {
  auto* shown =
      static_cast<signs*>(mmap(nullptr, sizeof(signs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shown, MAP_FAILED);
  const outcome o = job(3, [=](tobi::runtime& rt) {
    for (int i = 0; i < 5; ++i) {
      rt.barrier();
      if (rt.rank() == 0) shown->future_runs = shown->x_runs = shown->readers_are_there = 0;
      rt.barrier();
      if (tobi::run([=] { return readers_and_a_slow_future(shown); }) != 20) return 1;
    }
    return 0;
  });
  EXPECT_EQ(o.status, 0) << o.said;
  munmap(shown, sizeof(signs));
}

// A future that joins itself: its handle lies where it finds it, in the memory of the one process.
tobi::future<int> itself;

TEST_P(schedulers, a_job_that_stands_still_ends_with_a_report) {
  if (!steals_children()) GTEST_SKIP() << "a continuation's child has begun before its handle is known";
  const outcome o = job(1, [](tobi::runtime&) {
    return tobi::run([] {
      itself = tobi::spawn_future([] { return itself.join(); }, 2);
      return itself.join();
    });
  });
  EXPECT_NE(o.status, 0);
  EXPECT_NE(o.said.find("the job stands still"), std::string::npos) << o.said;
  EXPECT_NE(o.said.find("2 tasks wait for results"), std::string::npos) << o.said;
  EXPECT_NE(o.said.find("2 tasks that were suspended here wait"), std::string::npos) << o.said;
}

struct large {
  std::array<std::uint64_t, 500> words;
};

large sum_of(large in, std::uint64_t depth) {
  if (depth == 0) {
    spin(500);
    return in;
  }
  auto child = tobi::spawn([=] { return sum_of(in, depth - 1); });  // the closure is 4 KB, and so is the result
  large a = sum_of(in, depth - 1);
  const large b = child.join();
  for (std::size_t i = 0; i < a.words.size(); ++i) a.words[i] += b.words[i];
  return a;
}

int large_values_arrive() {
  for (int run = 0; run < 10; ++run) {
    const large got = tobi::run([] {
      large in;
      for (std::size_t i = 0; i < in.words.size(); ++i) in.words[i] = i;
      return sum_of(in, 7);
    });
    for (std::size_t i = 0; i < got.words.size(); ++i) {
      if (got.words[i] != 128 * i) return 1;
    }
  }
  return 0;
}

TEST_P(schedulers, closures_and_results_of_any_size_travel) {
  const outcome o = job(3, [](tobi::runtime&) { return large_values_arrive(); });
  EXPECT_EQ(o.status, 0) << o.said;
}

TEST_P(schedulers, without_local_collection_everything_is_freed_through_the_queue) {
  for (const char* deque : {"steal_word", "the"}) {
    const outcome o = in_job(
        3,
        {{"TOBI_SCHED", GetParam()}, {"TOBI_LOCAL_COLLECTION", "0"}, {"TOBI_DEQUE", deque}, {"TOBI_HEAP_SIZE", "16M"}},
        [](tobi::runtime&) { return large_values_arrive(); });
    EXPECT_EQ(o.status, 0) << o.said;
  }
}

TEST_P(schedulers, the_statistics_of_all_are_the_sums_of_each_and_fit_together) {
  const bool children = steals_children();
  const outcome o = job(3, [=](tobi::runtime& rt) {
    tobi::statistics all;
    std::vector<tobi::statistics> each(3);
    while (all.steals_ok < 20 || all.outstanding_joins == 0) {
      tobi::run([] {
        return tobi::parallel_reduce(
            0, 64, 1, 0,
            [](int) {
              spin(50000);
              return 1;
            },
            [](int a, int b) { return a + b; });
      });
      // However busy the machine: who forks gives a thief time to come, and the child still runs when it is joined.
      tobi::run([] {
        const auto linger = [](int turns) {
          for (int k = 0; k < turns; ++k) {
            spin(2000);
            tobi::poll();
          }
          return turns;
        };
        auto child = tobi::spawn([=] { return linger(2000); });
        const int mine = linger(1000);
        return mine + child.join();
      });
      all = rt.stats(each.data());
    }
    tobi::statistics sum;
    for (const tobi::statistics& s : each) {
      sum.steals_ok += s.steals_ok;
      sum.steals_failed += s.steals_failed;
      sum.steal_ns += s.steal_ns;
      sum.copying_ns += s.copying_ns;
      sum.stolen_bytes += s.stolen_bytes;
      sum.outstanding_joins += s.outstanding_joins;
      sum.outstanding_ns += s.outstanding_ns;
      if (s.run_ns == 0 || s.run_ns > all.run_ns) return 1;
    }
    if (sum.steals_ok != all.steals_ok || sum.steals_failed != all.steals_failed || sum.steal_ns != all.steal_ns ||
        sum.copying_ns != all.copying_ns || sum.stolen_bytes != all.stolen_bytes ||
        sum.outstanding_joins != all.outstanding_joins || sum.outstanding_ns != all.outstanding_ns) {
      return 2;
    }
    if (all.copying_ns == 0 || all.copying_ns > all.steal_ns || all.outstanding_ns == 0) return 4;
    // A descriptor is one line and a half; a continuation is frames.
    return (all.bytes_per_steal() == 96.0) == children ? 0 : 5;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

TEST_P(schedulers, more_children_than_fit_are_a_sentence_or_none_is_queued) {
  const outcome o = in_job(1, {{"TOBI_SCHED", GetParam()}, {"TOBI_STACK_SIZE", "64K"}}, [](tobi::runtime&) {
    return tobi::run([] {
             std::array<tobi::future<int>, 2000> many;
             for (int i = 0; i < 2000; ++i) many[static_cast<std::size_t>(i)] = tobi::spawn_future([=] { return i; });
             int sum = 0;
             for (const auto& f : many) sum += f.join();
             return sum;
           }) == 1999000
               ? 0
               : 9;
  });
  if (steals_children()) {
    EXPECT_EQ(o.status, 1);
    EXPECT_NE(o.said.find("raise TOBI_STACK_SIZE"), std::string::npos) << o.said;
  } else {
    EXPECT_EQ(o.status, 0) << o.said;
  }
}

std::uint64_t call_deeply(std::uint64_t n) {
  volatile char frame[512] = {};
  if (n == 0) return 1;
  return call_deeply(n - 1) + static_cast<std::uint64_t>(frame[n % 512]);
}

TEST(child_full, a_stack_too_small_names_its_setting_and_a_larger_one_will_do) {
  for (const auto& [size, status] : {std::pair{"64K", 1}, std::pair{"4M", 0}}) {
    const outcome o = in_job(2, {{"TOBI_SCHED", "child_full"}, {"TOBI_TASK_STACK_SIZE", size}}, [](tobi::runtime&) {
      return tobi::run([] {
               auto child = tobi::spawn([] { return call_deeply(2000); });
               return child.join();
             }) == 1
                 ? 0
                 : 9;
    });
    EXPECT_EQ(o.status, status) << o.said;
    EXPECT_EQ(o.said.find("raise TOBI_TASK_STACK_SIZE") != std::string::npos, status == 1) << o.said;
  }
}

TEST(child_rtc, a_stack_too_small_names_its_setting) {
  const outcome o = in_job(1, {{"TOBI_SCHED", "child_rtc"}, {"TOBI_STACK_SIZE", "256K"}},
                           [](tobi::runtime&) { return tobi::run([] { return call_deeply(2000); }) == 1 ? 0 : 9; });
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.said.find("raise TOBI_STACK_SIZE"), std::string::npos) << o.said;
}

TEST(message, children_do_not_migrate_for_debugging) {
  for (const char* sched : {"child_full", "child_rtc"}) {
    const outcome o = in_job(2, {{"TOBI_SCHED", sched}, {"TOBI_DEBUG_MIGRATE", "1"}}, [](tobi::runtime&) { return 0; });
    EXPECT_EQ(o.status, 2);
    EXPECT_NE(o.said.find("TOBI_DEBUG_MIGRATE moves continuations"), std::string::npos) << o.said;
    EXPECT_EQ(o.said.find('\n'), o.said.size() - 1) << o.said;
  }
}

}  // namespace
