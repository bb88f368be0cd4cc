// SPDX-License-Identifier: Apache-2.0
// Mistakes with updates of numbers in global memory: each ends the job with its sentence, or throws. An update races
// with a checkout alone, and a worker that dies in one ends the job.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/jobs/in_job.hpp"

namespace {

using setting = std::pair<const char*, const char*>;

template <class Body>
void expect_refused(const char* sentence, Body body) {
  for (const char* nodes : {"1", "2"}) {
    const outcome o = in_job(2, {}, body, {{"TOBI_NODES", nodes}, {"TOBI_TRANSPORT", "sim"}});
    EXPECT_EQ(o.status, 1) << o.said;
    EXPECT_NE(o.said.find(sentence), std::string::npos) << o.said;
  }
}
const double two[] = {1, 2};

TEST(an_update, names_global_memory) {
  expect_refused("tobi::accumulate of 16 bytes at 0x", [](tobi::runtime&) {
    double local[2]{};
    tobi::accumulate(tobi::global_ptr<double>(local), two, 2);
    return 0;
  });
  expect_refused("tobi::fetch_min of 8 bytes at 0 names memory that is not global.", [](tobi::runtime&) {
    tobi::fetch_min(tobi::global_ptr<long>(), 1);
    return 0;
  });
}
TEST(an_update, stays_within_an_allocation) {
  expect_refused("names memory that was freed, or never allocated.", [](tobi::runtime&) {
    const auto a = tobi::allocate_all<double>(8192);
    const std::vector<double> more(3 * 8192);
    tobi::accumulate(a.data(), more.data(), more.size());
    return 0;
  });
  expect_refused("tobi::compare_and_swap of 4 bytes at", [](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(10);
    tobi::free_all(a);
    tobi::compare_and_swap(&a[3], 0, 1);
    return 0;
  });
  expect_refused("names memory that is not global.", [](tobi::runtime&) {
    const auto a = tobi::allocate_all<double>(10);
    tobi::accumulate(a.data(), two, std::numeric_limits<std::size_t>::max() / 4);
    return 0;
  });
}
TEST(an_update, is_of_aligned_numbers) {
  expect_refused("give it an address that is a multiple of 8.", [](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(10);
    tobi::accumulate(tobi::global_ptr<double>(reinterpret_cast<double*>((&a[1]).raw())), two, 2);
    return 0;
  });
}
TEST(an_update, meets_no_checkout_of_its_task) {
  expect_refused("overlaps a checkout of 80 bytes that this task holds; check it in before.", [](tobi::runtime&) {
    const auto a = tobi::allocate_all<double>(10);
    const auto held = tobi::checkout(a, tobi::mode::read);
    tobi::accumulate(&a[9], two, 1);
    return 0;
  });
}
TEST(an_update, needs_a_runtime) {
  const outcome o = in_child([] { tobi::fetch_add(tobi::global_ptr<long>(), 1); });
  EXPECT_EQ(o.status, 2) << o.said;
  EXPECT_NE(o.said.find("global memory was used without a tobi::runtime alive"), std::string::npos) << o.said;
}
TEST(an_update, of_lengths_that_differ_throws) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<double>(10);
    for (double& x : tobi::checkout(a, tobi::mode::write)) x = 0;
    const auto thrown = tobi::run([=] {
      int caught = 0;
      try {
        tobi::spawn([=] {
          tobi::accumulate(a, two);
          return 0;
        }).join();
      } catch (const tobi::task_error& e) {
        caught += e.message() == "tobi::accumulate was given 2 numbers to add to 10; give it as many" ? 1 : 0;
      }
      const std::array<std::size_t, 2> places{3, 10};
      try {
        tobi::accumulate_at(a, places, two);
      } catch (const std::out_of_range& e) {
        caught += std::string("tobi::accumulate_at was given place 10 of 10 numbers") == e.what() ? 10 : 0;
      }
      try {
        tobi::accumulate_at(a, std::span(places).first(1), two);
      } catch (const std::invalid_argument&) {
        caught += 100;
      }
      return tobi::load(&a[3]) == 0 ? caught : -1;
    });
    CHECK(thrown == 111);
    return 0;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

// Two tasks, one of which reads what the other one updates, while a third one updates too.
TEST(an_update, races_with_a_checkout_alone) {
  const std::vector<setting> watched{{"TOBI_DEBUG_GLOBAL", "1"}};
  const outcome none = in_job(
      4, {},
      [](tobi::runtime& rt) {
        const auto a = tobi::allocate_all<double>(4);
        if (rt.rank() == 0) {
          for (double& x : tobi::checkout(a, tobi::mode::write)) x = 0;
        }
        rt.barrier();
        const std::array<std::size_t, 2> ends{0, 3};
        for (int i = 0; i < 2000; ++i) {
          tobi::accumulate(a.first(2), two);
          tobi::accumulate_at(a, ends, two);
          if (rt.rank() == 1) tobi::store(&a[2], 1.0);  // between the ends
        }
        rt.barrier();
        CHECK(tobi::load(&a[1]) == 2.0 * 2000 * 4 && tobi::load(&a[3]) == 2.0 * 2000 * 4);
        return 0;
      },
      watched);
  EXPECT_EQ(none.status, 0) << none.said;
  void* at = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  auto& holds = *new (at) std::atomic<int>(0);
  const outcome race = in_job(
      2, {},
      [&](tobi::runtime& rt) {
        const auto a = tobi::allocate_all<double>(2);
        if (rt.rank() == 0) {
          const auto held = tobi::checkout(a, tobi::mode::read);
          holds = 1;
          sleep(20);  // until the other one ends the job
        } else {
          while (holds == 0) sched_yield();
          tobi::accumulate(a, two);
        }
        return 0;
      },
      watched);
  EXPECT_NE(race.status, 0) << race.said;
  EXPECT_NE(race.said.find("updates 16 bytes on rank 1"), std::string::npos) << race.said;
}

// A worker that dies with or without a lock: the others end.
TEST(an_update, ends_with_a_worker_that_is_killed_in_it) {
  const outcome o = in_job(4, {}, [](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<double>(4096, tobi::block_cyclic(1));
    const std::vector<double> ones(4096, 1.0);
    rt.barrier();
    for (int i = 0;; ++i) {
      tobi::accumulate(a, ones);
      if (i == 1000 && rt.rank() == 2) raise(SIGKILL);
    }
    return 0;
  });
  EXPECT_NE(o.status, 0) << o.said;
  EXPECT_NE(o.said.find("rank 2"), std::string::npos) << o.said;
}

}  // namespace
