// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 13 s
// Updates that wait to be sent with others (libcore/pgas/updates.hpp, U6): whoever is ordered behind an update finds it,
// on whatever way it looks, and nothing else shows that it waited.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "libcore/base/rng.hpp"
#include "tests/jobs/ways.hpp"

namespace {

class waiting_updates : public in_each_way {};

constexpr std::size_t n = 40'000;  // of 8 bytes: some blocks on each worker

template <class T>
tobi::global_span<T> zeros() {
  const auto all = tobi::allocate_all<T>(n, tobi::block_cyclic(4096));
  tobi::run([all] { tobi::fill(all, T{0}); });
  return all;
}
template <class T>
void add(tobi::global_span<T> to, std::size_t i, T value) {
  tobi::accumulate(to.data() + i, &value, 1);
}

// The task itself, by a checkout, a load, a store, an update that returns something, and an update of another kind.
TEST_P(waiting_updates, are_seen_by_their_own_task) {
  expect_zero([](tobi::runtime&) {
    const auto words = zeros<std::int64_t>();
    const auto reals = zeros<double>();
    const int wrong = tobi::run([=] {
      int bad = 0;
      for (std::size_t i = 3; i < n; i += 1999) {
        add<std::int64_t>(words, i, 5);
        add<std::int64_t>(words, i, 2);
        bad += tobi::load(words.data() + i) != 7;
        add<std::int64_t>(words, i, 1);
        bad += tobi::fetch_add(words.data() + i, 1) != 8;
        add<std::int64_t>(words, i, 1);
        {
          const auto seen = tobi::checkout(words.subspan(i - 1, 3), tobi::mode::read);
          bad += seen[1] != 10 || seen[0] != 0;
        }
        add<std::int64_t>(words, i, 1);
        tobi::store(words.data() + i, std::int64_t{100});
        add<std::int64_t>(words, i, 1);
        add<double>(reals, i, 0.5);
        add<double>(reals, i, 0.25);
        bad += tobi::load(reals.data() + i) != 0.75;
        bad += tobi::load(words.data() + i) != 101;
        add<double>(reals, i, 1.0);
        tobi::accumulate(tobi::global_ptr<std::int64_t>(reinterpret_cast<std::int64_t*>((reals.data() + i).raw())),
                         std::vector<std::int64_t>{0}.data(), 1);
        bad += tobi::load(reals.data() + i) != 1.75;
      }
      return bad;
    });
    tobi::free_all(reals);
    tobi::free_all(words);
    return wrong;
  });
}

// What a cache has fetched of the neighbours meanwhile.
TEST_P(waiting_updates, are_not_hidden_by_what_was_fetched_meanwhile) {
  expect_zero([](tobi::runtime&) {
    const auto words = zeros<std::int64_t>();
    const int wrong = tobi::run([=] {
      int bad = 0;
      for (std::size_t i = 8; i + 8 < n; i += 1111) {
        add<std::int64_t>(words, i, 3);
        bad += tobi::load(words.data() + i + 1) != 0;
        bad += tobi::load(words.data() + i - 1) != 0;
        tobi::store(words.data() + i + 2, std::int64_t{9});
        bad += tobi::load(words.data() + i) != 3;
        bad += tobi::load(words.data() + i + 2) != 9;
        tobi::store(words.data() + i + 2, std::int64_t{0});
      }
      return bad;
    });
    tobi::free_all(words);
    return wrong;
  });
}

// A parent behind the join of a child, where either may have moved; and what a child finds of its parent's.
TEST_P(waiting_updates, are_seen_behind_joins_and_spawns) {
  expect_zero([](tobi::runtime&) {
    const auto words = zeros<std::int64_t>();
    const int wrong = tobi::run([=] {
      int bad = 0;
      for (int round = 0; round < 12; ++round) {
        const std::int64_t before = 9 * round;
        add<std::int64_t>(words, 7, 1);
        tobi::parallel_for(0, 8, 1, [=](int k) {
          add<std::int64_t>(words, 7, 1);
          for (std::size_t i = 0; i < 50; ++i)
            add<std::int64_t>(words, 100 + (i * 797 + static_cast<std::size_t>(k) * 31) % (n - 100), 1);
        });
        bad += tobi::load(words.data() + 7) != before + 9;
        auto child = tobi::spawn([=] { return tobi::load(words.data() + 7); });
        bad += child.join() != before + 9;
      }
      return bad;
    });
    const std::int64_t sum = tobi::run([=] { return tobi::reduce(words); });
    tobi::free_all(words);
    return wrong + static_cast<int>(sum != 12 * (9 + 8 * 50));
  });
}

// A continuation that was stolen, by its ticket. The child ends when the continuation has run elsewhere.
TEST_P(waiting_updates, are_seen_by_a_thief) {
  expect_zero([](tobi::runtime& rt) {
    if (rt.computing() < 2) return 0;
    const auto words = zeros<std::int64_t>();
    const auto gone = tobi::allocate_all<std::int64_t>(1);
    const int wrong = tobi::run([=] {
      int bad = 0;
      tobi::store(gone.data(), std::int64_t{0});
      for (std::int64_t round = 1; round <= 10; ++round) {
        for (std::size_t i = 5; i < n; i += 3001) add<std::int64_t>(words, i, 1);
        auto child = tobi::spawn([=] {
          while (tobi::load_relaxed(gone.data()) < round) tobi::poll();
          return 0;
        });
        for (std::size_t i = 5; i < n; i += 3001) bad += tobi::load(words.data() + i) != round;
        tobi::fetch_add(gone.data(), 1);
        bad += child.join();
      }
      return bad;
    });
    tobi::free_all(gone);
    tobi::free_all(words);
    return wrong;
  });
}

// Every worker of main behind a barrier; and memory that is freed and taken again is not touched by what waited.
TEST_P(waiting_updates, are_there_behind_a_barrier_and_before_a_free) {
  expect_zero([](tobi::runtime& rt) {
    for (int round = 0; round < 4; ++round) {
      const auto words = tobi::allocate_all<std::int64_t>(n, tobi::block_cyclic(4096));
      if (rt.rank() == round % rt.size()) {
        for (std::size_t i = 0; i < n; i += 4000) {
          for (auto& x : tobi::checkout(words.subspan(i, 4000), tobi::mode::write)) x = 0;
        }
      }
      rt.barrier();
      for (std::size_t i = 0; i < n; i += 97) add<std::int64_t>(words, i, rt.rank() + 1);
      if (round % 2 == 0) {
        rt.barrier();
        const std::int64_t right = rt.size() * (rt.size() + 1) / 2;
        for (std::size_t i = 0; i < n; i += 97) CHECK(tobi::load(words.data() + i) == right);
        CHECK(tobi::load(words.data() + 1) == 0);
      }
      rt.barrier();
      for (std::size_t i = 0; i < n; i += 97) add<std::int64_t>(words, i, 1);
      tobi::free_all(words);
    }
    return 0;
  });
}
TEST_P(waiting_updates, of_objects_of_tasks_are_there_before_their_free) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
      int bad = 0;
      for (int round = 0; round < 20; ++round) {
        const tobi::global_span<std::int64_t> mine(tobi::allocate_global<std::int64_t>(64), 64);
        tobi::fill(mine, std::int64_t{round});
        auto child = tobi::spawn([=] {
          for (std::size_t i = 0; i < 64; i += 3) add<std::int64_t>(mine, i, 1);
          return 0;
        });
        bad += child.join();
        bad += tobi::load(mine.data() + 63) != round + 1 || tobi::load(mine.data() + 1) != round;
        auto freed = tobi::spawn([=] {
          for (std::size_t i = 0; i < 64; i += 3) add<std::int64_t>(mine, i, 1);
          tobi::free_global(mine.data(), mine.size());
          return 0;
        });
        bad += freed.join();
      }
      return bad;
    });
  });
}

// More than waits at a time, of all kinds in turn, from tasks that are not ordered.
template <class T>
int many(std::uint64_t seed) {
  const auto all = zeros<T>();
  constexpr int tasks = 16, each = 700;
  tobi::run([=] {
    tobi::parallel_for(0, tasks, 1, [=](int k) {
      tobi::base::rng random(seed + static_cast<std::uint64_t>(k));
      std::vector<std::size_t> places;
      for (int i = 0; i < each; ++i) {
        const std::size_t at = random.uniform(i % 2 == 0 ? 10 : n);
        if (i % 7 != 0) {
          add<T>(all, at, T{1});
        } else {
          const std::size_t two[] = {at, n - 1};
          const T values[] = {T{1}, T{0}};
          tobi::accumulate_at(all, std::span<const std::size_t>(two), std::span<const T>(values));
        }
      }
    });
  });
  const T sum = tobi::run([=] { return tobi::reduce(all); });
  tobi::free_all(all);
  return static_cast<int>(sum != T{tasks * each});
}
TEST_P(waiting_updates, of_many_tasks_add_up) {
  expect_zero(
      [](tobi::runtime&) { return many<std::int64_t>(1) + many<double>(2) + many<std::uint32_t>(3) + many<float>(4); });
}

const setting ofi{"TOBI_TRANSPORT", "ofi"}, sim{"TOBI_TRANSPORT", "sim"}, two_nodes{"TOBI_NODES", "2"};
INSTANTIATE_TEST_SUITE_P(
    over, waiting_updates,
    testing::ValuesIn(usual_ways_and({{"native", 2, {ofi, two_nodes, {"TOBI_AMO_SERVER", "native"}}},
                                      {"inline", 3, {ofi, {"TOBI_NODES", "3"}, {"TOBI_AMO_SERVER", "inline"}}},
                                      {"through", 2, {ofi, two_nodes, {"TOBI_CACHE_POLICY", "write_through"}}},
                                      {"back", 4, {sim, two_nodes, {"TOBI_CACHE_POLICY", "write_back"}}}})),
    name_of_way);

}  // namespace
