// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 10 s
// tobi::get, put, get_nb and put_nb: they read and write what checkouts in their place would, whatever the cache has of
// the range; and what a program does wrong with them ends it with a sentence.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/jobs/mistakes.hpp"
#include "tests/jobs/ways.hpp"

namespace {

class one_sided : public in_each_way {};

constexpr std::size_t n = 40'000;  // of 8 bytes: a third of the cache

template <class T>
tobi::global_span<T> dealt() {
  return tobi::allocate_all<T>(n, tobi::block_cyclic(4096));
}
long value_at(std::size_t i) { return static_cast<long>(i * 7 + 1); }

// A get finds what this task has written in each way: by a store, an update, a scattered store, a put. Parts of the
// range are dirty in the cache, parts valid, and parts not there.
TEST_P(one_sided, gets_see_what_their_own_task_has_written) {
  expect_zero([](tobi::runtime&) {
    const auto all = dealt<std::int64_t>();
    const int wrong = tobi::run([=] {
      tobi::for_each(all, tobi::mode::write, [](std::int64_t& x, std::size_t i) { x = value_at(i); });
      int bad = 0;
      for (std::size_t from = 0; from + 2000 < n; from += 1777) {
        const auto part = all.subspan(from, 2000);
        std::vector<std::int64_t> wanted(2000), found(2000);
        for (std::size_t i = 0; i < 2000; ++i) wanted[i] = value_at(from + i);
        tobi::get(part, found);
        bad += found != wanted;
        static_cast<void>(tobi::load(&part[900]));
        for (const std::size_t i : {0, 3, 511, 512, 1300, 1999}) part[i] = wanted[i] = -static_cast<long>(from + i);
        wanted[4] += tobi::fetch_add(&part[5], 1) == wanted[5] ? 0 : 1;
        ++wanted[5];
        tobi::store_at(part, std::array<std::size_t, 1>{700}, std::array<std::int64_t, 1>{from ? 9 : 8});
        wanted[700] = from ? 9 : 8;
        const std::array<std::int64_t, 3> three{1, 2, 3};
        tobi::put(three, part.subspan(1298, 3));
        for (std::size_t i = 0; i < 3; ++i) wanted[1298 + i] = three[i];
        tobi::get(part, found);
        bad += found != wanted;
        {
          const auto seen = tobi::checkout(part, tobi::mode::read);
          tobi::get(tobi::global_span<const std::int64_t>(part), found);  // next to a checkout that reads
          for (std::size_t i = 0; i < 2000; ++i) bad += seen[i] != wanted[i];
        }
        bad += found != wanted;
        for (std::size_t i = 0; i < 2000; ++i) wanted[i] = value_at(from + i);
        tobi::put(wanted, part);
      }
      return bad;
    });
    tobi::free_all(all);
    return wrong;
  });
}

// What tasks put is found by those behind their joins, in bytes of any number, next to what others put.
TEST_P(one_sided, puts_of_many_tasks_are_all_there) {
  expect_zero([](tobi::runtime&) {
    const auto all = dealt<std::uint8_t>();
    const int wrong = tobi::run([=] {
      int bad = 0;
      for (int round = 1; round <= 3; ++round) {
        constexpr std::size_t piece = 333;  // no borders of blocks or words
        constexpr std::size_t pieces = (n + piece - 1) / piece;
        const auto byte_at = [round](std::size_t i) { return static_cast<std::uint8_t>(i / 3 + i * 5 + 11 * round); };
        tobi::parallel_for(std::size_t{0}, pieces, std::size_t{1}, [=](std::size_t k) {
          const auto part = all.subspan(k * piece, std::min(piece, n - k * piece));
          static_cast<void>(tobi::load(&part[0]));  // the cache has some of what becomes old
          std::vector<std::uint8_t> own(part.size());
          for (std::size_t i = 0; i < own.size(); ++i) own[i] = byte_at(k * piece + i);
          if (k % 2 == 0) {
            tobi::put(own, part);
          } else {
            auto first = tobi::put_nb(own, part);
            first.wait();
          }
        });
        bad += tobi::parallel_reduce(
            std::size_t{0}, std::size_t{8}, std::size_t{1}, 0,
            [=](std::size_t k) {
              std::vector<std::uint8_t> found(n / 8);
              tobi::get(all.subspan(k * (n / 8), n / 8), found);
              int other = 0;
              for (std::size_t i = 0; i < found.size(); ++i) other += found[i] != byte_at(k * (n / 8) + i);
              return other;
            },
            std::plus<>());
      }
      return bad;
    });
    tobi::free_all(all);
    return wrong;
  });
}

// A load of what lies next to a range fetches some of the range, perhaps before the put has come home.
TEST_P(one_sided, puts_are_not_hidden_by_what_was_fetched_meanwhile) {
  expect_zero([](tobi::runtime&) {
    const auto all = dealt<std::int64_t>();
    const int wrong = tobi::run([=] {
      int bad = 0;
      tobi::fill(all, std::int64_t{0});
      for (std::size_t i = 8; i + 8 < n; i += 111) {
        const std::array<std::int64_t, 4> values{1, 2, 3, value_at(i)};
        {
          auto under_way = tobi::put_nb(values, all.subspan(i, 4));
          bad += tobi::load(&all[i + 4]) != 0;
          bad += tobi::load(&all[i - 1]) != 0;
        }
        bad += tobi::load(&all[i + 3]) != value_at(i);
      }
      return bad;
    });
    tobi::free_all(all);
    return wrong;
  });
}

// One call copies what the cache cannot hold.
TEST_P(one_sided, ranges_may_be_larger_than_the_cache) {
  expect_zero([](tobi::runtime&) {
    constexpr std::size_t large = 400'000;  // 3.2 MB, and the cache has 1 MB
    const auto all = tobi::allocate_all<std::int64_t>(large);
    const int wrong = tobi::run([=] {
      std::vector<std::int64_t> own(large);
      for (std::size_t i = 0; i < large; ++i) own[i] = value_at(i);
      tobi::put(own, all);
      std::vector<std::int64_t> found(large);
      tobi::get(all, found);
      int bad = found != own;
      tobi::get(all.first(0), {});
      tobi::put({}, all.first(0));
      // Transfers are moved: a place that gets another one waits for its own first.
      std::array<std::int64_t, 2> first{}, last{};
      {
        tobi::transfer moved = tobi::get_nb(all.first(2), first);
        moved = tobi::get_nb(all.subspan(large - 2), last);  // waits for the first one
        const tobi::transfer kept = std::move(moved);
      }
      bad += first[1] != value_at(1) || last[1] != value_at(large - 1);
      return bad;
    });
    tobi::free_all(all);
    return wrong;
  });
}

// In main, between barriers, as in a task.
TEST_P(one_sided, copies_are_made_in_main) {
  expect_zero([](tobi::runtime& rt) {
    const auto all = tobi::allocate_all<int>(100);
    rt.barrier();
    if (rt.rank() == rt.size() - 1) {
      std::vector<int> own(100, 4);
      own[99] = 5;
      tobi::put(own, all);
    }
    rt.barrier();
    std::array<int, 2> found{};
    tobi::get(all.subspan(98), found);
    rt.barrier();
    tobi::free_all(all);
    return found[0] == 4 && found[1] == 5 ? 0 : 1;
  });
}

// What is fetched is as much as the cache lacks, and takes no room in it.
TEST(one_sided_bytes, are_those_that_the_cache_lacks) {
  const outcome o =
      in_job(2, {},
             [](tobi::runtime& rt) {
               const auto all = tobi::allocate_all<std::uint8_t>(1 << 20);  // the second half is the other worker's
               int bad = 0;
               rt.barrier();
               rt.reset_stats();
               if (rt.rank() == 0) {
                 const auto far = all.subspan(600'000, 300'000);
                 std::vector<std::uint8_t> own(far.size());
                 tobi::get(far, own);
                 tobi::get(far, own);  // nothing was kept
                 static_cast<void>(tobi::load(&far[100'000]));
               }
               const auto before = rt.stats().global;
               if (rt.rank() == 0) {
                 std::vector<std::uint8_t> own(300'000);
                 tobi::get(all.subspan(600'000, 300'000), own);  // but what a load has fetched
               }
               const auto after = rt.stats().global;
               const std::uint64_t loaded = before.fetched_bytes - 600'000;
               bad += loaded == 0 || loaded > 65'536 || after.fetched_bytes - before.fetched_bytes != 300'000 - loaded;
               bad += after.evictions != 0;
               tobi::free_all(all);
               return bad;
             },
             {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}});
  EXPECT_EQ(o.status, 0) << o.said;
}

TEST(one_sided_mistakes, end_the_job_with_a_sentence) {
  const auto refused = [](const char* sentence, auto body) {
    ends_with(sentence, 2, {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}}, [body](tobi::runtime&) {
      const auto all = tobi::allocate_all<int>(1000);
      return tobi::run([=] {
        body(all);
        return 0;
      });
    });
  };
  using ints = tobi::global_span<int>;
  refused("tobi::get of 8 bytes names memory that is not global.", [](ints) {
    int own[2] = {};
    int other[2] = {};
    tobi::get(ints(tobi::global_ptr<int>(other), 2), own);
  });
  refused("tobi::put of 4 bytes names memory that was freed, or never allocated.", [](ints all) {
    const auto gone = all.data() + (1 << 20);
    const int own[1] = {};
    tobi::put(own, ints(gone, 1));
  });
  refused("tobi::put of 8 bytes overlaps a checkout of 16 bytes that this task holds; check it in before.",
          [](ints all) {
            const auto held = tobi::checkout(all.first(4), tobi::mode::read);
            const int own[2] = {};
            tobi::put(own, all.subspan(3, 2));
          });
  refused("tobi::get of 8 bytes overlaps a checkout of 16 bytes that this task holds", [](ints all) {
    const auto held = tobi::checkout(all.first(4), tobi::mode::write);
    int own[2] = {};
    tobi::get(all.subspan(3, 2), own);
  });
  refused("tobi::get of 8 bytes overlaps tobi::put of 40 bytes, which is under way; wait for it before.", [](ints all) {
    const std::array<int, 10> from{};
    const auto under_way = tobi::put_nb(from, all.first(10));
    int own[2] = {};
    tobi::get(all.subspan(9, 2), own);
  });
  refused("tobi::get_nb of 40 bytes is under way across a fork, where the task may move", [](ints all) {
    std::array<int, 10> own{};
    const auto under_way = tobi::get_nb(all.first(10), own);
    some_work(3);
  });
  ends_with("tobi::put of 4 bytes is of an array that tobi::set_read_only was given", 2, {}, [](tobi::runtime&) {
    const auto all = tobi::allocate_all<int>(10);
    tobi::set_read_only(all);
    return tobi::run([=] {
      const int own[1] = {};
      tobi::put(own, all.first(1));
      return 0;
    });
  });
}
TEST(one_sided_mistakes, of_sizes_throw) {
  const outcome o = in_job(1, {}, [](tobi::runtime&) {
    const auto all = tobi::allocate_all<int>(10);
    std::vector<int> own(9);
    int told = 0;
    try {
      tobi::get(all, own);
    } catch (const std::invalid_argument& e) {
      told += std::string(e.what()) == "tobi::get: the span has 10 elements, and the buffer 9";
    }
    try {
      static_cast<void>(tobi::put_nb(own, all));
    } catch (const std::invalid_argument& e) {
      told += std::string(e.what()) == "tobi::put_nb: the span has 10 elements, and the buffer 9";
    }
    return told == 2 ? 0 : 1;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

INSTANTIATE_TEST_SUITE_P(
    ways, one_sided,
    testing::ValuesIn(usual_ways_and(
        {{"none", 2, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}, {"TOBI_CACHE_POLICY", "none"}}},
         {"through", 4, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}, {"TOBI_CACHE_POLICY", "write_through"}}},
         {"child_full", 4, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}, {"TOBI_SCHED", "child_full"}}}})),
    name_of_way);

}  // namespace
