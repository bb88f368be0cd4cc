// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 11 s
// Updates of numbers in global memory, in jobs over each kind of fabric: none is lost, wherever the numbers lie and
// whoever else updates them, and what a worker's cache has of them and of their neighbours stays right.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/rng.hpp"
#include "tests/jobs/ways.hpp"

namespace {

class updates : public in_each_way {};

// What rank RANK adds to number I; small integers, so that every kind of number has the exact sum.
template <class T>
T part(int rank, std::size_t i) {
  return static_cast<T>((static_cast<std::size_t>(rank) * 7 + i * 3) % 5);
}
template <class T>
int all_add_to_the_same(tobi::runtime& rt) {
  constexpr std::size_t n = 300;
  constexpr int rounds = 3;
  const auto sums = tobi::allocate_all<T>(n, tobi::block_cyclic(1));
  if (rt.rank() == 0) {
    for (T& x : tobi::checkout(sums, tobi::mode::write)) x = T{1};
  }
  rt.barrier();
  std::vector<T> mine(n);
  for (std::size_t i = 0; i < n; ++i) mine[i] = part<T>(rt.rank(), i);
  for (int round = 0; round < rounds; ++round) tobi::accumulate(sums, mine);
  rt.barrier();
  auto got = tobi::checkout(sums, tobi::mode::read);
  for (std::size_t i = 0; i < n; ++i) {
    T right{1};
    for (int r = 0; r < rt.size(); ++r) right = static_cast<T>(right + T{rounds} * part<T>(r, i));
    CHECK(got[i] == right);
  }
  got.checkin();
  tobi::free_all(sums);
  return 0;
}
TEST_P(updates, of_all_workers_add_up) {
  expect_zero([](tobi::runtime& rt) {
    int wrong = 0;
    wrong += all_add_to_the_same<double>(rt);
    wrong += all_add_to_the_same<float>(rt);
    wrong += all_add_to_the_same<std::int32_t>(rt);
    wrong += all_add_to_the_same<std::uint32_t>(rt);
    wrong += all_add_to_the_same<std::int64_t>(rt);
    wrong += all_add_to_the_same<std::uint64_t>(rt);
    return wrong;
  });
}

// Spans that begin and end anywhere, over the homes of all workers.
template <class T>
int spans_from_a_seed(tobi::runtime& rt) {
  constexpr std::size_t n = 40'000;
  const auto sums = tobi::allocate_all<T>(n, tobi::block_cyclic(4096));
  for (std::size_t i = static_cast<std::size_t>(rt.rank()); i < 16; i += static_cast<std::size_t>(rt.size())) {
    for (T& x : tobi::checkout(sums.subspan(i * (n / 16), n / 16), tobi::mode::write)) x = T{0};
  }
  rt.barrier();
  std::vector<T> right(n);
  for (int rank = 0; rank < rt.size(); ++rank) {
    tobi::base::rng random(static_cast<std::uint64_t>(rank) + 5);
    for (int i = 0; i < 6; ++i) {
      const std::size_t first = random.uniform(n);
      const std::size_t most = i % 2 == 0 ? n - first : std::min<std::size_t>(n - first, 9);
      std::vector<T> add(random.uniform(most + 1));
      for (std::size_t k = 0; k < add.size(); ++k) {
        add[k] = static_cast<T>(1 + random.uniform(3));
        right[first + k] = static_cast<T>(right[first + k] + add[k]);
      }
      if (rank == rt.rank()) tobi::accumulate(sums.subspan(first, add.size()), add);
    }
  }
  rt.barrier();
  for (std::size_t done = 0; done < n; done += 4000) {
    const auto got = tobi::checkout(sums.subspan(done, 4000), tobi::mode::read);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == right[done + i]);
  }
  rt.barrier();
  tobi::free_all(sums);
  return 0;
}
TEST_P(updates, of_spans_anywhere_add_up) {
  expect_zero([](tobi::runtime& rt) {
    int wrong = 0;
    wrong += spans_from_a_seed<double>(rt);
    wrong += spans_from_a_seed<float>(rt);
    wrong += spans_from_a_seed<std::int32_t>(rt);
    return wrong;
  });
}
TEST_P(updates, of_words_anywhere_add_up) {
  expect_zero([](tobi::runtime& rt) {
    constexpr std::size_t n = 6000;
    const auto sums = tobi::allocate_all<std::uint64_t>(n, tobi::block_cyclic(4096));
    if (rt.rank() == 0) {
      for (std::uint64_t& x : tobi::checkout(sums, tobi::mode::write)) x = ~std::uint64_t{0};  // wraps around
    }
    rt.barrier();
    const std::vector<std::uint64_t> mine(n - 21, 2);
    tobi::accumulate(sums.subspan(13, mine.size()), mine);
    rt.barrier();
    const auto got = tobi::checkout(sums, tobi::mode::read);
    const auto size = static_cast<std::uint64_t>(rt.size());
    for (std::size_t i = 0; i < n; ++i) CHECK(got[i] == (i >= 13 && i < n - 8 ? 2 * size : 0) - 1);
    return 0;
  });
}

TEST_P(updates, at_scattered_places_add_up) {
  expect_zero([](tobi::runtime& rt) {
    constexpr std::size_t n = 3000;
    const auto words = tobi::allocate_all<std::int64_t>(n, tobi::block_cyclic(4096));
    const auto reals = tobi::allocate_all<double>(n, tobi::block_cyclic(4096));
    if (rt.rank() == 0) {
      for (auto& x : tobi::checkout(words, tobi::mode::write)) x = 0;
      for (auto& x : tobi::checkout(reals, tobi::mode::write)) x = 0;
    }
    rt.barrier();
    std::vector<std::int64_t> right(n);
    for (int rank = 0; rank < rt.size(); ++rank) {
      tobi::base::rng random(static_cast<std::uint64_t>(rank) + 77);
      std::vector<std::size_t> places(400);
      std::vector<std::int64_t> integers(places.size());
      for (std::size_t i = 0; i < places.size(); ++i) {
        places[i] = i < 50 ? 7 : random.uniform(n);  // one of them again and again
        integers[i] = static_cast<std::int64_t>(random.uniform(4)) - 1;
        right[places[i]] += integers[i];
      }
      if (rank != rt.rank()) continue;
      tobi::accumulate_at(words, places, integers);
      tobi::accumulate_at(reals, places, std::vector<double>(integers.begin(), integers.end()));
    }
    rt.barrier();
    const auto got = tobi::checkout(words, tobi::mode::read);
    const auto real = tobi::checkout(reals, tobi::mode::read);
    for (std::size_t i = 0; i < n; ++i) CHECK(got[i] == right[i] && real[i] == static_cast<double>(right[i]));
    return 0;
  });
}

// What lies between the numbers of one lock is others' meanwhile: numbers that tasks store, on other workers.
TEST_P(updates, at_scattered_places_leave_what_lies_between) {
  expect_zero([](tobi::runtime& rt) {
    constexpr std::size_t n = 6000;
    const auto reals = tobi::allocate_all<double>(n, tobi::block_cyclic(4096));
    const auto small = tobi::allocate_all<std::int32_t>(n, tobi::block_cyclic(4096));
    tobi::run([=] {
      tobi::fill(reals, 0.5);
      tobi::fill(small, 3);
    });
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < n; i += 3) places.push_back(i);
    for (int round = 0; round < 5; ++round) {
      // Each worker adds to every third number, and stores the others in turn.
      tobi::accumulate_at(reals, places, std::vector<double>(places.size(), 1.0));
      tobi::accumulate_at(small, places, std::vector<std::int32_t>(places.size(), 1));
      const auto mine = static_cast<std::size_t>(rt.rank());
      for (std::size_t i = 1 + 30 * mine; i < n; i += 30 * static_cast<std::size_t>(rt.size())) {
        tobi::store(&reals[i], reals[i].get() + 2);
        tobi::store(&small[i + 1], small[i + 1].get() + 2);
      }
    }
    rt.barrier();
    const auto got = tobi::checkout(reals, tobi::mode::read);
    const auto got_small = tobi::checkout(small, tobi::mode::read);
    for (std::size_t i = 0; i < n; ++i) {
      const bool stored = i % 30 == 1, stored_small = i % 30 == 2;
      CHECK(got[i] == (i % 3 == 0 ? 0.5 + 5 * rt.size() : stored ? 10.5 : 0.5));
      CHECK(got_small[i] == (i % 3 == 0 ? 3 + 5 * rt.size() : stored_small ? 13 : 3));
    }
    return 0;
  });
}

// --- one number ---------------------------------------------------------------------------------------------

template <class T>
int draws_and_extremes(tobi::runtime& rt) {
  constexpr std::size_t each = 40;
  const std::size_t all = each * static_cast<std::size_t>(rt.size());
  const auto next = tobi::allocate_all<T>(3, tobi::block_cyclic(1));
  const auto taken = tobi::allocate_all<std::int64_t>(all);
  if (rt.rank() == 0) {
    tobi::store(&next[0], T{0});
    tobi::store(&next[1], T{100});
    tobi::store(&next[2], T{100});
    for (auto& x : tobi::checkout(taken, tobi::mode::write)) x = 0;
  }
  rt.barrier();
  for (std::size_t i = 0; i < each; ++i) {
    const T drawn = tobi::fetch_add(&next[0], 1);
    tobi::fetch_add(&taken[static_cast<std::size_t>(drawn)], 1);
    const auto mine = static_cast<T>(100 + static_cast<std::size_t>(rt.rank()) * each + i);
    CHECK(tobi::fetch_max(&next[1], mine) >= T{100});
    CHECK(tobi::fetch_min(&next[2], static_cast<T>(200 - mine)) <= T{100});
  }
  rt.barrier();
  CHECK(tobi::load(&next[0]) == static_cast<T>(all));
  CHECK(tobi::load(&next[1]) == static_cast<T>(100 + all - 1));
  CHECK(tobi::load(&next[2]) == static_cast<T>(101 - static_cast<int>(all)));
  for (const auto x : tobi::checkout(taken, tobi::mode::read)) CHECK(x == 1);  // no two have drawn one
  rt.barrier();
  tobi::free_all(next);
  tobi::free_all(taken);
  return 0;
}
TEST_P(updates, of_one_number_return_what_it_was) {
  expect_zero([](tobi::runtime& rt) {
    int wrong = 0;
    wrong += draws_and_extremes<double>(rt);
    wrong += draws_and_extremes<float>(rt);
    wrong += draws_and_extremes<std::int32_t>(rt);
    wrong += draws_and_extremes<std::int64_t>(rt);
    return wrong;
  });
}

template <class T>
int swaps(tobi::runtime& rt) {
  const auto word = tobi::allocate_all<T>(2);
  if (rt.rank() == 0) {
    tobi::store(&word[0], T{0});
    tobi::store(&word[1], T{5});
  }
  rt.barrier();
  for (int i = 0; i < 20; ++i) {
    for (T seen = 0;;) {
      const T was = tobi::compare_and_swap(&word[0], seen, static_cast<T>(seen + 3));
      if (was == seen) break;
      seen = was;
    }
  }
  CHECK(tobi::compare_and_swap(&word[1], 4, 9) == 5);  // never stores
  rt.barrier();
  CHECK(tobi::load(&word[0]) == static_cast<T>(60 * rt.size()) && tobi::load(&word[1]) == 5);
  rt.barrier();
  tobi::free_all(word);
  return 0;
}
TEST_P(updates, by_comparison_store_once) {
  expect_zero([](tobi::runtime& rt) { return swaps<std::uint64_t>(rt) + swaps<std::int32_t>(rt); });
}

// Bits that are no number, and the ends of the integers.
TEST_P(updates, know_signs_and_nan) {
  expect_zero([](tobi::runtime& rt) {
    const auto sign = tobi::allocate_all<std::int64_t>(1, tobi::block_cyclic(1));
    const auto none = tobi::allocate_all<std::uint64_t>(1, tobi::block_cyclic(1));
    const auto real = tobi::allocate_all<double>(2, tobi::block_cyclic(1));
    if (rt.rank() == 0) {
      tobi::store(&sign[0], std::int64_t{-1});
      tobi::store(&none[0], std::uint64_t{1});
      tobi::store(&real[0], 2.5);
      tobi::store(&real[1], std::numeric_limits<double>::quiet_NaN());
    }
    rt.barrier();
    CHECK(tobi::fetch_max(&sign[0], -7) == -1 && tobi::fetch_min(&none[0], ~std::uint64_t{0}) == 1);
    CHECK(tobi::fetch_min(&real[0], std::numeric_limits<double>::quiet_NaN()) == 2.5);
    CHECK(tobi::fetch_max(&real[0], std::numeric_limits<double>::quiet_NaN()) == 2.5);
    const double nan = tobi::fetch_add(&real[1], 1.0);
    CHECK(nan != nan);
    rt.barrier();
    CHECK(tobi::load(&sign[0]) == -1 && tobi::load(&none[0]) == 1 && tobi::load(&real[0]) == 2.5);
    return 0;
  });
}

// --- with checkouts, and in tasks -------------------------------------------------------------------------------

// Numbers of even places are updated by all leaves, and those of odd ones are written and read by the one that owns
// them, through the cache: each in every line, block and 8 bytes that the others have.
template <class T>
T neighbours(std::size_t n, int leaves, int rounds) {
  const tobi::global_ptr<T> own = tobi::allocate_global<T>(n);
  const tobi::global_span<T> a(own, n);
  tobi::fill(a, T{0});
  for (int round = 1; round <= rounds; ++round) {
    tobi::parallel_for(0, leaves, 1, [=](int leaf) {
      tobi::base::rng random(static_cast<std::uint64_t>(leaf + 100 * round));
      for (auto i = static_cast<std::size_t>(2 * leaf + 1); i < n; i += static_cast<std::size_t>(2 * leaves)) {
        tobi::store(&a[i], static_cast<T>(tobi::load(&a[i]) + T{2}));
        tobi::fetch_add(&a[i - 1], 1);
        const auto other = static_cast<std::size_t>(random.uniform(n / 2)) * 2;
        const T one{1};
        tobi::accumulate(&a[other], &one, 1);
        tobi::accumulate(&a[other], &one, 1);
      }
    });
  }
  T sum{0};
  bool odd_right = true;
  for (std::size_t i = 0; i < n; ++i) {
    const T x = tobi::load(&a[i]);
    if (i % 2 == 0) {
      sum = static_cast<T>(sum + x);
    } else if (x != static_cast<T>(2 * rounds)) {
      odd_right = false;
    }
  }
  tobi::free_global(own, n);
  return odd_right ? sum : T{-1};
}
TEST_P(updates, leave_dirty_neighbours_alone) {
  expect_zero([](tobi::runtime&) {
    constexpr std::size_t n = 240;
    CHECK(tobi::run([] { return neighbours<std::int32_t>(n, 8, 3); }) == 3 * 3 * n / 2);
    CHECK(tobi::run([] { return neighbours<std::int64_t>(n, 8, 3); }) == 3 * 3 * n / 2);
    CHECK(tobi::run([] { return neighbours<float>(n, 8, 3); }) == float{3 * 3 * n / 2});
    CHECK(tobi::run([] { return neighbours<double>(n, 8, 3); }) == double{3 * 3 * n / 2});
    return 0;
  });
}

// What a worker wrote comes before its own update, and what it has fetched is not read behind it.
TEST_P(updates, come_behind_what_their_worker_wrote) {
  expect_zero([](tobi::runtime& rt) {
    constexpr std::size_t n = 3000;
    const auto a = tobi::allocate_all<double>(n * static_cast<std::size_t>(rt.size()), tobi::block_cyclic(4096));
    const auto mine = a.subspan(n * static_cast<std::size_t>(rt.rank()), n);
    const std::vector<double> ones(n, 1.0);
    for (int round = 1; round <= 3; ++round) {
      for (double& x : tobi::checkout(mine, tobi::mode::write)) x = 10.0 * round;
      tobi::accumulate(mine.subspan(5), std::span(ones).subspan(5));
      {
        const auto got = tobi::checkout(mine, tobi::mode::read);
        for (std::size_t i = 0; i < n; ++i) CHECK(got[i] == 10.0 * round + (i < 5 ? 0 : 1));
      }
      tobi::accumulate(mine, ones);
      for (double& x : tobi::checkout(mine.subspan(100, 50), tobi::mode::read_write)) x += 1;
      {
        // A checkout next to the numbers, which holds their block.
        auto next = tobi::checkout(mine.first(7), tobi::mode::read_write);
        next[0] += 1;
        tobi::accumulate(mine.subspan(7, 3), std::span(ones).first(3));
        next[6] += 1;
      }
      rt.barrier();
      const auto other = static_cast<std::size_t>((rt.rank() + round) % rt.size());
      auto got = tobi::checkout(a.subspan(n * other, n), tobi::mode::read);
      for (std::size_t i = 0; i < n; ++i) {
        const bool again = i == 0 || i == 6 || (i >= 7 && i < 10) || (i >= 100 && i < 150);
        CHECK(got[i] == 10.0 * round + (i < 5 ? 0 : 1) + 1 + (again ? 1 : 0));
      }
      got.checkin();
      rt.barrier();
    }
    rt.barrier();
    return 0;
  });
}

TEST_P(updates, of_tasks_that_are_not_ordered_add_up) {
  expect_zero([](tobi::runtime&) {
    const bool right = tobi::run([] {
      constexpr std::size_t tile = 2500;  // more than a lock is for
      const auto sums = tobi::allocate_global<double>(tile);
      const auto count = tobi::allocate_global<long>(1);
      tobi::fill(tobi::global_span<double>(sums, tile), 0.0);
      tobi::store(count, 0L);
      tobi::parallel_for(0, 60, 1, [=](int i) {
        const std::vector<double> add(tile, i);
        tobi::accumulate(sums, add.data(), tile);
        tobi::fetch_add(count, 1);
      });
      bool all = tobi::load(count) == 60;
      for (std::size_t i = 0; i < tile; ++i) all = all && tobi::load(sums + static_cast<std::ptrdiff_t>(i)) == 1770;
      tobi::free_global(sums, tile);
      tobi::free_global(count, 1);
      return all;
    });
    CHECK(right);
    return 0;
  });
}

TEST_P(updates, of_tasks_of_a_collection_add_up) {
  expect_zero([](tobi::runtime& rt) {
    struct shared {
      tobi::global_span<float> sums;
    };
    struct tile {
      std::uint32_t number;
    };
    shared mine{tobi::allocate_all<float>(500)};
    using on_sums = tobi::task_collection<tile, shared>;
    on_sums tasks(
        [](const tile& t, const on_sums::context& at) {
          const std::array<float, 3> add{1, 2, 3};
          tobi::accumulate(at.local().sums.subspan(t.number, 3), add);
        },
        mine);
    if (rt.rank() == 0) {
      for (float& x : tobi::checkout(mine.sums, tobi::mode::write)) x = 0;
    }
    for (std::uint32_t i = 0; i < 498; ++i) tasks.add({i});
    for (int round = 0; round < 2; ++round) {
      tasks.process();
      tasks.restore();
    }
    const auto got = tobi::checkout(mine.sums, tobi::mode::read);
    const auto times = static_cast<float>(2 * rt.size());
    for (std::size_t i = 2; i < 498; ++i) CHECK(got[i] == 6 * times);
    CHECK(got[0] == times && got[1] == 3 * times && got[499] == 3 * times);
    return 0;
  });
}

TEST_P(updates, of_nothing_do_nothing) {
  expect_zero([](tobi::runtime&) {
    tobi::accumulate(tobi::global_ptr<double>(), nullptr, 0);
    tobi::accumulate(tobi::global_span<std::int64_t>(), std::span<const std::int64_t>());
    tobi::accumulate_at(tobi::global_span<float>(), {}, {});
    return tobi::run([] {
      tobi::accumulate(tobi::global_ptr<int>(), nullptr, 0);
      return 0;
    });
  });
}

const setting sim{"TOBI_TRANSPORT", "sim"}, ofi{"TOBI_TRANSPORT", "ofi"}, two_nodes{"TOBI_NODES", "2"};
const setting block{"TOBI_BLOCK_SIZE", "4K"}, sub{"TOBI_SUB_BLOCK_SIZE", "256"}, cache{"TOBI_CACHE_SIZE", "64K"};

INSTANTIATE_TEST_SUITE_P(
    over, updates,
    testing::ValuesIn(some_of<way>(
        {way{"one_worker", 1, {}}, way{"as_set", 4, {}}, way{"shm_many", 16, {}}, way{"sim", 4, {sim, two_nodes}},
         way{"sim_none", 2, {sim, two_nodes, block, sub, cache, {"TOBI_CACHE_POLICY", "none"}}},
         way{"sim_through", 4, {sim, two_nodes, block, sub, cache, {"TOBI_CACHE_POLICY", "write_through"}}},
         way{"sim_back", 4, {sim, two_nodes, block, sub, cache, {"TOBI_CACHE_POLICY", "write_back"}}},
         way{"sim_migrate", 2, {sim, two_nodes, block, sub, cache, {"TOBI_DEBUG_MIGRATE", "1"}}},
         way{"sim_manual", 2, {sim, {"TOBI_SIM", "manual"}, two_nodes}},
         way{"sim_nochain", 3, {sim, {"TOBI_SIM", "nochain"}, {"TOBI_NODES", "3"}}}, way{"ofi", 4, {ofi, two_nodes}},
         way{"ofi_native", 2, {ofi, two_nodes, {"TOBI_AMO_SERVER", "native"}}},
         way{"ofi_inline", 3, {ofi, {"TOBI_NODES", "3"}, {"TOBI_AMO_SERVER", "inline"}}},
         way{"ofi_server", 4, {ofi, two_nodes, {"TOBI_AMO_SERVER", "worker"}}}},
        {"as_set", "sim_back", "sim_manual", "ofi_native", "ofi_inline"})),
    [](const auto& p) { return std::string(p.param.name); });

}  // namespace
