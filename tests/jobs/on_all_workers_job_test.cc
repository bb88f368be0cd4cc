// SPDX-License-Identifier: Apache-2.0
// lane: computes, 20 s
// Tasks that have all workers do something together, outside of tasks: the run pauses, and goes on.
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>

#include "tests/jobs/mistakes.hpp"
#include "tests/jobs/ways.hpp"

namespace {

class all_workers : public in_each_way {};

INSTANTIATE_TEST_SUITE_P(
    ways, all_workers,
    testing::ValuesIn(usual_ways_and(
        {{"child_full", 3, {{"TOBI_SCHED", "child_full"}}},
         {"continuation_greedy", 3, {{"TOBI_SCHED", "continuation_greedy"}}},
         {"the", 3, {{"TOBI_DEQUE", "the"}}},
         {"server", 4, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}, {"TOBI_AMO_SERVER", "worker"}}}})),
    name_of_way);

long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}

TEST_P(all_workers, call_what_a_task_gives_them) {
  expect_zero([](tobi::runtime& rt) {
    const int all = rt.size();
    for (int run = 0; run < 3; ++run) {
      const long sum = tobi::run([=] {
        auto next = tobi::spawn([] { return fib(12); });
        long got = 0;
        for (int i = 0; i < 3; ++i) {
          got += tobi::on_all_workers([=](tobi::runtime& here) { return here.reduce(i + 1L) + here.all_gather(i)[0]; });
          tobi::on_all_workers([](tobi::runtime& here) { here.barrier(); });
        }
        return got + next.join() + fib(10);
      });
      CHECK(sum == 6 * all + 3 + 144 + 55);
    }
    return 0;
  });
}

// The result is rank 0's, of any size, and the captures too.
TEST_P(all_workers, bring_large_captures_and_results) {
  expect_zero([](tobi::runtime& rt) {
    using large = std::array<long, 1000>;
    const long sum = tobi::run([] {
      large given;
      for (std::size_t i = 0; i < given.size(); ++i) given[i] = static_cast<long>(i);
      const large got = tobi::on_all_workers([given](tobi::runtime& here) {
        large back = given;
        for (long& x : back) x += here.rank() == 0 ? 1 : -1'000'000;
        return back;
      });
      long all = 0;
      for (const long x : got) all += x;
      return all;
    });
    CHECK(sum == 999 * 500 + 1000);
    // In main, too, and in each other.
    const int from_main = tobi::on_all_workers([&] { return rt.rank() + 7; });
    const int nested = tobi::run([] {
      return tobi::on_all_workers([] { return tobi::on_all_workers([](tobi::runtime& here) { return here.size(); }); });
    });
    CHECK(from_main == 7 && nested == rt.size());
    return 0;
  });
}

// What tasks wrote before is read by all workers, and what those write by tasks behind it.
TEST_P(all_workers, read_and_write_what_tasks_do) {
  expect_zero([](tobi::runtime& rt) {
    const std::size_t each = 5000;
    const auto all = static_cast<std::size_t>(rt.size());
    const auto a = tobi::allocate_all<long>(each * all, tobi::block_cyclic(1));
    const long wrong = tobi::run([=] {
      long bad = 0;
      for (long round = 1; round < 4; ++round) {
        tobi::fill(a, round);
        bad += tobi::on_all_workers([=](tobi::runtime& here) {
          long others = 0;
          // The part of the next rank is read before anybody writes.
          const auto next = static_cast<std::size_t>((here.rank() + 1) % here.size());
          auto part = tobi::checkout(a.subspan(next * each, each), tobi::mode::read);
          for (const long x : part) others += x == round ? 0 : 1;
          part.checkin();
          here.barrier();
          auto own = tobi::checkout(a.subspan(static_cast<std::size_t>(here.rank()) * each, each), tobi::mode::write);
          for (long& x : own) x = round * 10 + here.rank();
          own.checkin();
          return here.reduce(others);
        });
        for (std::size_t r = 0; r < all; ++r) {
          const long sum = tobi::reduce(a.subspan(r * each, each), 0L);
          bad += sum == static_cast<long>(each) * (round * 10 + static_cast<long>(r)) ? 0 : 1;
        }
      }
      return bad;
    });
    CHECK(wrong == 0);
    tobi::free_all(a);
    return 0;
  });
}

// Sizes that are known in a run alone; memory of one run that another frees, or main.
TEST_P(all_workers, allocate_and_free_in_a_run) {
  expect_zero([](tobi::runtime& rt) {
    const auto kept = tobi::run([] {
      tobi::global_span<int> last;
      for (std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
        auto beside = tobi::spawn([] { return fib(10); });
        const auto a = tobi::allocate_all<int>(n, n == 1000 ? tobi::block() : tobi::block_cyclic(4096));
        tobi::fill(a, static_cast<int>(n));
        if (tobi::reduce(a, 0L) != static_cast<long>(n * n) || beside.join() != 55) return tobi::global_span<int>();
        if (last.size() != 0) tobi::free_all(last);
        last = a;
      }
      return last;
    });
    CHECK(kept.size() == 300'000 && kept[299'999] == 300'000);
    rt.barrier();
    tobi::run([=] {
      tobi::free_all(kept);
      const auto again = tobi::allocate_all<long>(100'000);
      tobi::iota(again, 0L);
      tobi::free_all(again);
    });
    const auto from_run = tobi::run([] { return tobi::allocate_all<long>(10'000); });
    tobi::free_all(from_run);
    return 0;
  });
}

// One after the other, wherever they are.
TEST_P(all_workers, serve_tasks_that_ask_at_the_same_time) {
  expect_zero([](tobi::runtime& rt) {
    const int all = rt.size();
    for (int run = 0; run < 5; ++run) {
      const long sum = tobi::run([=] {
        return tobi::parallel_reduce(
            0L, 12L, 1, 0L,
            [](long i) {
              return fib(6) + i * tobi::on_all_workers([](tobi::runtime& here) { return here.reduce(1L); });
            },
            [](long x, long y) { return x + y; });
      });
      CHECK(sum == 12 * 8 + 66 * all);
    }
    return 0;
  });
}

TEST_P(all_workers, run_tasks_in_a_run_that_waits) {
  expect_zero([](tobi::runtime&) {
    const long sum = tobi::run([] {
      auto next = tobi::spawn([] { return fib(10); });
      long got = 0;
      for (int i = 0; i < 3; ++i) {
        got += tobi::on_all_workers([=] {
          long inner = 0;
          for (int k = 0; k < 2; ++k) {
            inner += tobi::run([=] {
              auto one = tobi::spawn([] { return fib(8); });
              const int in_run = tobi::on_all_workers([](tobi::runtime& here) { return here.size(); });
              return fib(9) + one.join() + in_run - in_run;
            });
          }
          return inner;
        });
      }
      return got + next.join();
    });
    CHECK(sum == 6 * (34 + 21) + 55);
    return 0;
  });
}

TEST_P(all_workers, throw_what_the_lowest_rank_has_thrown) {
  expect_zero([](tobi::runtime& rt) {
    const int last = rt.size() - 1;
    const int caught = tobi::run([=] {
      int times = 0;
      for (int i = 0; i < 3; ++i) {
        try {
          (void)tobi::on_all_workers([=](tobi::runtime& here) {
            if (here.rank() == last) throw std::runtime_error("thrown " + std::to_string(i));
            return 1;
          });
        } catch (const tobi::task_error& e) {
          if (e.message() == "thrown " + std::to_string(i) && e.rank() == last) ++times;
        }
      }
      return times;
    });
    CHECK(caught == 3);
    return 0;
  });
}

// A future that lasts until the end of the run lasts that long.
TEST_P(all_workers, leave_what_the_run_around_needs) {
  expect_zero([](tobi::runtime&) {
    const long sum = tobi::run([] {
      const auto p = tobi::make_promise<long>(tobi::any_number);
      tobi::on_all_workers([] { (void)tobi::run([] { return fib(5); }); });
      auto one = tobi::spawn([=] { return p.get_future().join(); });
      p.set(4);
      return one.join() + p.get_future().join();
    });
    CHECK(sum == 8);
    return 0;
  });
}

// Random trees of tasks, which ask for pauses of each kind at the same time, also while another run is under way in one.
struct random_tree {
  int all;  // workers

  static unsigned next(unsigned& state) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  }
  /// Whether what a pause brings is right.
  [[nodiscard]] bool pause(unsigned which, unsigned size, unsigned thrower) const {
    switch (which) {
      case 0:
        return tobi::on_all_workers([](tobi::runtime& here) { return here.reduce(1); }) == all;
      case 1: {
        const auto a = tobi::allocate_all<int>(100 + size, tobi::block_cyclic(1));
        tobi::fill(a, 3);
        const bool right = tobi::reduce(a, 0L) == 3 * static_cast<long>(a.size());
        tobi::free_all(a);
        return right;
      }
      case 2:
        try {
          tobi::on_all_workers([thrower, count = all](tobi::runtime& here) {
            if (here.rank() == static_cast<int>(thrower) % count) throw std::runtime_error("thrown");
          });
          return false;
        } catch (const tobi::task_error&) {
          return true;
        }
      case 3:
        return tobi::on_all_workers([] {
                 return tobi::run([] {
                   auto child = tobi::spawn([] { return 3; });
                   return tobi::on_all_workers([] { return 4; }) + child.join();
                 });
               }) == 7;
      default:
        return true;
    }
  }
  /// How many tasks there were whose pause was right.
  [[nodiscard]] long grow(int depth, unsigned seed) const {
    unsigned state = seed;
    const unsigned which = next(state) % 12;
    const long own = pause(which, next(state) % 5000, next(state) % 1000) ? 1 : 0;
    if (depth == 0) return own;
    const unsigned left = next(state), right = next(state), later = next(state);
    const random_tree self = *this;
    auto child = tobi::spawn([=] { return self.grow(depth - 1, left); });
    const auto other = tobi::spawn_future([=] { return self.grow(depth / 2, later); }, 1);
    const long mine = self.grow(depth - 1, right);
    const long others = other.join();
    return own + mine + others + child.join();
  }
  /// How many tasks there are.
  [[nodiscard]] static long size(int depth) { return depth == 0 ? 1 : 1 + 2 * size(depth - 1) + size(depth / 2); }
};
TEST_P(all_workers, come_to_each_pause_of_a_random_tree) {
  expect_zero([](tobi::runtime& rt) {
    const random_tree tree{rt.size()};
    for (unsigned seed = 0; seed < 6; ++seed) {
      const long right = tobi::run([=] { return tree.grow(4, 77 * seed + 5); });
      CHECK(right == random_tree::size(4));
    }
    return 0;
  });
}

// --- mistakes ----------------------------------------------------------------------------------------------

TEST(all_workers_mistakes, no_checkout_is_held) {
  ends_with("is held across a tobi::on_all_workers (or allocate_all, free_all)", 2, {}, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(100);
    tobi::run([=] {
      auto held = tobi::checkout(a, tobi::mode::read);
      (void)tobi::allocate_all<int>(10);
    });
    return 0;
  });
}
TEST(all_workers_mistakes, a_scheduler_whose_tasks_cannot_wait_is_named) {
  ends_with("needs a task that can wait while its worker does something else, which TOBI_SCHED=child_rtc does not have",
            2, {{"TOBI_SCHED", "child_rtc"}}, [](tobi::runtime&) {
              tobi::run([] { tobi::on_all_workers([] {}); });
              return 0;
            });
}
TEST(all_workers_mistakes, a_local_of_the_task_is_not_there) {
  ends_with("of what a function captures that all workers call is a pointer to a local of a task", 2, {},
            [](tobi::runtime&) {
              tobi::run([] {
                int local = 1;
                (void)tobi::on_all_workers([at = &local] { return at != nullptr; });
              });
              return 1;
            });
}
TEST(all_workers_mistakes, a_task_of_a_collection_is_alone) {
  ends_with("was called inside a task of a collection, where the other workers are not", 2, {}, [](tobi::runtime&) {
    int nothing = 0;
    using collection = tobi::task_collection<int, int>;
    collection tasks([](const int&, const collection::context&) { tobi::on_all_workers([] {}); }, nothing);
    tasks.add(1);
    tasks.process();
    return 0;
  });
}
TEST(all_workers_mistakes, one_that_throws_leaves_nobody_waiting) {
  for (const int thrower : {0, 1}) {
    ends_with("while rank", 2, {}, [=](tobi::runtime&) {
      tobi::run([=] {
        tobi::on_all_workers([=](tobi::runtime& here) {
          if (here.rank() == thrower) throw std::runtime_error("thrown");
          here.barrier();
        });
      });
      return 0;
    });
  }
}
TEST(all_workers_mistakes, a_task_that_asks_is_waited_for) {
  ends_with("the root of tobi::run has ended", 2, {}, [](tobi::runtime&) {
    tobi::run([] { (void)tobi::spawn_future([] { tobi::on_all_workers([] {}); }, 1); });
    return 0;
  });
}

}  // namespace
