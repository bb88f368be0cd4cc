// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 10 s
// tobi::store_at: what is stored is found by all that are ordered behind it, next to whatever others write in the same
// blocks, for elements of each size. So it is by tobi::load_at.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "tests/jobs/ways.hpp"

namespace {

class scattered_stores : public in_each_way {};

constexpr std::size_t n = 24'000;

template <class T>
tobi::global_span<T> dealt() {
  return tobi::allocate_all<T>(n, tobi::block_cyclic(4096));
}
template <class T>
void store_one(tobi::global_span<T> to, std::size_t place, T value) {
  tobi::store_at(to, std::array{place}, std::array{value});
}

// The task itself: by a load, a checkout, a later store of either kind, and an update of what was stored.
TEST_P(scattered_stores, are_seen_by_their_own_task) {
  expect_zero([](tobi::runtime&) {
    const auto all = dealt<std::int64_t>();
    const int wrong = tobi::run([=] {
      int bad = 0;
      tobi::fill(all, std::int64_t{0});
      for (std::size_t i = 3; i < n; i += 1999) {
        store_one<std::int64_t>(all, i, 5);
        store_one<std::int64_t>(all, i, 6);
        bad += tobi::load(all.data() + i) != 6;
        tobi::store_at(all, std::array{i, i - 1, i}, std::array<std::int64_t, 3>{7, 8, 9});
        {
          const auto seen = tobi::checkout(all.subspan(i - 2, 4), tobi::mode::read);
          bad += seen[0] != 0 || seen[1] != 8 || seen[2] != 9 || seen[3] != 0;
        }
        store_one<std::int64_t>(all, i, 10);
        tobi::store(all.data() + i, std::int64_t{11});
        bad += tobi::load(all.data() + i) != 11;
        store_one<std::int64_t>(all, i, 12);
        bad += tobi::fetch_add(all.data() + i, 1) != 12;
        const std::int64_t three = 3;
        store_one<std::int64_t>(all, i, 20);
        tobi::accumulate(all.data() + i, &three, 1);
        bad += tobi::load(all.data() + i) != 23;
        tobi::accumulate(all.data() + i, &three, 1);
        store_one<std::int64_t>(all, i, 30);
        bad += tobi::load(all.data() + i) != 30;
      }
      return bad;
    });
    tobi::free_all(all);
    return wrong;
  });
}

// What a cache has fetched of the neighbours meanwhile.
TEST_P(scattered_stores, are_not_hidden_by_what_was_fetched_meanwhile) {
  expect_zero([](tobi::runtime&) {
    const auto all = dealt<std::int64_t>();
    const int wrong = tobi::run([=] {
      int bad = 0;
      tobi::fill(all, std::int64_t{0});
      for (std::size_t i = 8; i + 8 < n; i += 1111) {
        store_one<std::int64_t>(all, i, 3);
        bad += tobi::load(all.data() + i + 1) != 0;
        bad += tobi::load(all.data() + i - 1) != 0;
        bad += tobi::load(all.data() + i) != 3;
      }
      return bad;
    });
    tobi::free_all(all);
    return wrong;
  });
}

// Of many values for few places, more than a sort keeps in order by chance, the last ones count.
TEST_P(scattered_stores, to_one_place_are_the_last_of_them) {
  expect_zero([](tobi::runtime&) {
    const auto all = dealt<std::int64_t>();
    const int wrong = tobi::run([=] {
      constexpr std::size_t places = 300;
      std::vector<std::size_t> at;
      std::vector<std::int64_t> values;
      std::vector<std::int64_t> last(places);
      for (std::size_t i = 0; i < 20 * places; ++i) {
        const std::size_t which = i * i % places;
        at.push_back(which * (n / places));
        values.push_back(static_cast<std::int64_t>(i + 1));
        last[which] = values.back();
      }
      for (const std::size_t place : at) store_one<std::int64_t>(all, place, 0);
      for (std::size_t p = 0; p < places; ++p) store_one<std::int64_t>(all, p * (n / places), 0);
      tobi::store_at(all, at, values);
      int bad = 0;
      for (std::size_t p = 0; p < places; ++p) bad += tobi::load(all.data() + p * (n / places)) != last[p];
      return bad;
    });
    tobi::free_all(all);
    return wrong;
  });
}

// A permutation, by tasks that are not ordered, each for places all over the array.
template <class T, class Make>
int permuted(Make make) {
  constexpr std::size_t tasks = 16, factor = 7919;  // a prime that does not divide n
  const auto all = dealt<T>();
  const int wrong = tobi::run([=] {
    tobi::parallel_for(std::size_t{0}, tasks, std::size_t{1}, [=](std::size_t k) {
      std::vector<std::size_t> places;
      std::vector<T> values;
      for (std::size_t i = k; i < n; i += tasks) {
        places.push_back(i * factor % n);
        values.push_back(make(i));
        if (places.size() < 100) continue;
        tobi::store_at(all, places, values);
        places.clear();
        values.clear();
      }
      tobi::store_at(all, places, values);
    });
    int bad = tobi::parallel_reduce(
        std::size_t{0}, tasks, std::size_t{1}, 0,
        [=](std::size_t k) {
          std::vector<std::size_t> places;
          for (std::size_t i = k; i < n; i += tasks) places.push_back(i * factor % n);
          std::vector<T> found(places.size());
          tobi::load_at(tobi::global_span<const T>(all), places, found);
          int other = 0;
          for (std::size_t i = 0; i < found.size(); ++i) other += !(found[i] == make(i * tasks + k));
          return other;
        },
        std::plus<>());
    for (std::size_t from = 0; from < n; from += 1000) {
      const auto seen = tobi::checkout(all.subspan(from, 1000), tobi::mode::read);
      // Which index went to a place: the inverse of FACTOR, found by going through all of them.
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t place = i * factor % n;
        if (place >= from && place < from + 1000) bad += !(seen[place - from] == make(i));
      }
    }
    return bad;
  });
  tobi::free_all(all);
  return wrong;
}

struct triple {
  double x, y, z;
  bool operator==(const triple&) const = default;
};
struct three_halves {
  std::int32_t a, b, c;
  bool operator==(const three_halves&) const = default;
};
struct five_bytes {
  std::array<std::uint8_t, 5> all;
  bool operator==(const five_bytes&) const = default;
};
TEST_P(scattered_stores, of_many_tasks_are_all_there) {
  expect_zero([](tobi::runtime&) {
    int wrong = permuted<double>([](std::size_t i) { return 0.5 * static_cast<double>(i); });
    wrong += permuted<float>([](std::size_t i) { return static_cast<float>(i); });
    wrong += permuted<triple>([](std::size_t i) {
      const auto x = static_cast<double>(i);
      return triple{x, -x, x + 1};
    });
    wrong += permuted<three_halves>([](std::size_t i) {
      const auto a = static_cast<std::int32_t>(i);
      return three_halves{a, -a, a + 1};
    });
    return wrong;
  });
}

// Tasks that are not ordered write neighbours, by checkouts and by store_at.
TEST_P(scattered_stores, leave_their_neighbours_alone) {
  expect_zero([](tobi::runtime&) {
    const auto all = dealt<std::uint32_t>();
    const int wrong = tobi::run([=] {
      tobi::parallel_for(std::size_t{0}, std::size_t{12}, std::size_t{1}, [=](std::size_t k) {
        for (std::size_t i = k; i < n; i += 12) {
          const auto value = static_cast<std::uint32_t>(i);
          if (k % 2 == 0) {
            tobi::store(all.data() + i, value);
          } else {
            store_one(all, i, value);
          }
        }
      });
      int bad = 0;
      for (std::size_t i = 0; i < n; ++i) bad += tobi::load(all.data() + i) != i;
      return bad;
    });
    tobi::free_all(all);
    return wrong;
  });
}

// Elements that are no words are stored one by one.
TEST_P(scattered_stores, of_odd_elements_are_stores) {
  expect_zero([](tobi::runtime&) {
    const auto all = dealt<five_bytes>();
    const int wrong = tobi::run([=] {
      int bad = 0;
      for (std::uint8_t k = 0; k < 20; ++k) {
        const std::size_t place = k * std::size_t{1201};
        const five_bytes value{{k, 1, 2, 3, 4}};
        store_one(all, place, value);
        bad += !(tobi::load(all.data() + place) == value);
      }
      return bad;
    });
    tobi::free_all(all);
    return wrong;
  });
}

// All of main, behind a barrier.
TEST_P(scattered_stores, are_there_behind_a_barrier) {
  expect_zero([](tobi::runtime& rt) {
    const auto all = dealt<std::int64_t>();
    const auto size = static_cast<std::size_t>(rt.size());
    for (int round = 0; round < 3; ++round) {
      for (auto i = static_cast<std::size_t>(rt.rank()); i < n; i += size * 7) {
        store_one<std::int64_t>(all, i, round * 100 + rt.rank());
      }
      rt.barrier();
      for (std::size_t r = 0; r < size; ++r) {
        for (std::size_t i = r; i < n; i += size * 7) {
          CHECK(tobi::load(all.data() + i) == round * 100 + static_cast<std::int64_t>(r));
        }
      }
      rt.barrier();
    }
    tobi::free_all(all);
    return 0;
  });
}

TEST_P(scattered_stores, of_wrong_places_store_nothing) {
  expect_zero([](tobi::runtime&) {
    const auto all = dealt<double>();
    const int wrong = tobi::run([=] {
      int bad = 0;
      tobi::fill(all, 1.0);
      try {
        tobi::store_at(all, std::array<std::size_t, 2>{0, n}, std::array{2.0, 2.0});
        ++bad;
      } catch (const std::out_of_range& e) {
        bad += std::string(e.what()) != "tobi::store_at was given place 24000 of 24000 elements";
      }
      try {
        tobi::store_at(all, std::array<std::size_t, 2>{0, 1}, std::array{2.0});
        ++bad;
      } catch (const std::invalid_argument& e) {
        bad += std::string(e.what()) != "tobi::store_at was given 1 elements for 2 places; give it as many";
      }
      std::array<double, 2> found{3.0, 3.0};
      try {
        tobi::load_at(all, std::array<std::size_t, 2>{0, n}, found);
        ++bad;
      } catch (const std::out_of_range& e) {
        bad += std::string(e.what()) != "tobi::load_at was given place 24000 of 24000 elements" || found[0] != 3.0;
      }
      tobi::store_at(all, std::span<const std::size_t>(), std::span<const double>());
      tobi::load_at(all, std::span<const std::size_t>(), std::span<double>());
      return bad + static_cast<int>(tobi::load(all.data()) != 1.0);
    });
    tobi::free_all(all);
    return wrong;
  });
}

const setting ofi{"TOBI_TRANSPORT", "ofi"}, sim{"TOBI_TRANSPORT", "sim"}, two_nodes{"TOBI_NODES", "2"};
INSTANTIATE_TEST_SUITE_P(
    over, scattered_stores,
    testing::ValuesIn(usual_ways_and({{"watched", 2, {sim, two_nodes, {"TOBI_DEBUG_GLOBAL", "1"}}},
                                      {"through", 2, {ofi, two_nodes, {"TOBI_CACHE_POLICY", "write_through"}}},
                                      {"back", 4, {sim, two_nodes, {"TOBI_CACHE_POLICY", "write_back"}}}})),
    name_of_way);

}  // namespace
