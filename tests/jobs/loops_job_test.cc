// SPDX-License-Identifier: Apache-2.0
// lane: beside, 5 s
// Loops and reductions without a grain, bodies that take a range of indices, loops over chunks of several ranges, and
// task groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tobi/tobi.hpp>
#include <vector>

#include "tests/jobs/mistakes.hpp"
#include "tests/jobs/ways.hpp"

namespace {

std::vector<way> ways() {
  return usual_ways_and({{"the", 3, {{"TOBI_DEQUE", "the"}}},
                         {"stalling", 3, {{"TOBI_SCHED", "continuation_stalling"}}},
                         {"child_full", 3, {{"TOBI_SCHED", "child_full"}}},
                         {"child_rtc", 3, {{"TOBI_SCHED", "child_rtc"}}},
                         {"adws", 4, {{"TOBI_SCHED", "adws"}, {"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}}}});
}

class loops : public in_each_way {};

// Whether all of TIMES are 1, which are set to 0.
bool once_each(tobi::global_span<int> times) {
  return tobi::run([=] {
    const bool all = tobi::count_if(times, [](int k) { return k == 1; }) == times.size();
    tobi::fill(times, 0);
    return all;
  });
}

TEST_P(loops, each_index_is_executed_once) {
  expect_zero([](tobi::runtime&) {
    for (const std::size_t n : {1, 2, 3, 7, 100, 1500}) {
      const auto times = tobi::allocate_all<int>(n);
      const auto add = [=](std::size_t i) { tobi::fetch_add(&times[i], 1); };
      tobi::run([=] {
        tobi::fill(times, 0);
        tobi::parallel_for(0, n, [=](auto i) { add(static_cast<std::size_t>(i)); });
        return 0;
      });
      CHECK(once_each(times));
      const std::size_t parts = tobi::run([=] {
        return tobi::parallel_reduce(
            std::size_t{0}, n, std::size_t{0},
            [=](std::size_t first, std::size_t last) {
              for (std::size_t i = first; i < last; ++i) add(i);
              return std::size_t{last > first};
            },
            std::plus<>());
      });
      CHECK(parts >= 1 && parts <= n);
      CHECK(once_each(times));
      tobi::run([=] {
        tobi::parallel_for(tobi::on(times), 0, n, [=](auto first, auto last) {
          for (auto i = first; i < last; ++i) add(static_cast<std::size_t>(i));
        });
        return 0;
      });
      CHECK(once_each(times));
      tobi::run([=] {
        tobi::parallel_for(std::size_t{0}, n, 13, [=](std::size_t first, std::size_t last) {
          if (last - first > 13) throw std::logic_error("more than the grain");
          for (std::size_t i = first; i < last; ++i) add(i);
        });
        return 0;
      });
      CHECK(once_each(times));
      tobi::free_all(times);
    }
    return 0;
  });
}

TEST_P(loops, an_empty_loop_calls_nothing_and_the_ends_of_the_integers_are_counted) {
  expect_zero([](tobi::runtime&) {
    const bool right = tobi::run([] {
      tobi::parallel_for(5, 5, [](int) { std::abort(); });
      tobi::parallel_for(5, -5, [](int, int) { std::abort(); });
      const auto one = [](auto) { return std::int64_t{1}; };
      const auto all = tobi::parallel_reduce(std::int8_t{-128}, std::int8_t{127}, std::int64_t{0}, one, std::plus<>());
      constexpr int most = std::numeric_limits<int>::max();
      const auto top = tobi::parallel_reduce(most - 100, most, std::int64_t{0}, one, std::plus<>());
      const auto none = tobi::parallel_reduce(3, 3, std::int64_t{7}, one, std::plus<>());
      const auto wide = tobi::parallel_reduce(
          std::numeric_limits<int>::min(), most, std::int64_t{0},
          [](int first, int last) { return std::int64_t{last} - first; }, std::plus<>());
      return all == 255 && top == 100 && none == 7 && wide == (std::int64_t{1} << 32) - 1;
    });
    CHECK(right);
    return 0;
  });
}

// What follows the first index can be taken while that runs: it waits for the last one.
TEST_P(loops, no_index_waits_behind_another_one_that_takes_long) {
  if (GetParam().workers == 1) return;
  expect_zero([](tobi::runtime&) {
    const auto flag = tobi::allocate_all<int>(1);
    tobi::run([=] {
      flag[0] = 0;
      tobi::parallel_for(0, 64, [=](int i) {
        if (i == 63) tobi::fetch_add(flag.data(), 1);
        if (i == 0) {
          while (tobi::load_relaxed(flag.data()) == 0) tobi::poll();
        }
      });
      return 0;
    });
    tobi::free_all(flag);
    return 0;
  });
}

// The grouping depends on nothing that is measured: the same bits as of the serial sum over the same tree.
double of_tree(int begin, int end, int block) {
  if (end - begin <= block) {
    double sum = 0;
    for (int i = begin; i < end; ++i) sum += 1.0 / (1 + i);
    return sum;
  }
  const int middle = begin + (end - begin) / 2;
  const double left = of_tree(begin, middle, block);
  return left + of_tree(middle, end, block);
}
TEST_P(loops, a_sum_is_the_same_on_any_number_of_workers) {
  expect_zero([](tobi::runtime&) {
    for (const int n : {1, 10, 1023, 1024, 1025, 100000}) {
      const double sum = tobi::run([=] {
        return tobi::parallel_reduce(
            0, n, 0.0, [](int i) { return 1.0 / (1 + i); }, std::plus<>());
      });
      CHECK(sum == of_tree(0, n, (n + 1023) / 1024));
    }
    return 0;
  });
}

TEST_P(loops, a_reduction_keeps_the_order_of_its_operands) {
  expect_zero([](tobi::runtime&) {
    // Matrices do not commute.
    struct matrix {
      std::array<std::uint32_t, 4> v;
    };
    const auto times = [](const matrix& a, const matrix& b) {
      return matrix{{a.v[0] * b.v[0] + a.v[1] * b.v[2], a.v[0] * b.v[1] + a.v[1] * b.v[3],
                     a.v[2] * b.v[0] + a.v[3] * b.v[2], a.v[2] * b.v[1] + a.v[3] * b.v[3]}};
    };
    const auto of = [](int i) { return matrix{{static_cast<std::uint32_t>(i), 1, 1, 0}}; };
    matrix serial{{1, 0, 0, 1}};
    for (int i = 0; i < 5000; ++i) serial = times(serial, of(i));
    const matrix product = tobi::run([=] { return tobi::parallel_reduce(0, 5000, matrix{{1, 0, 0, 1}}, of, times); });
    CHECK(product.v == serial.v);
    return 0;
  });
}

TEST_P(loops, what_a_body_throws_leaves_as_task_error) {
  expect_zero([](tobi::runtime&) {
    const int caught = tobi::run([] {
      int times = 0;
      for (const int bad : {0, 50, 99}) {
        try {
          tobi::parallel_for(0, 100, [=](int i) {
            if (i == bad) throw std::runtime_error("this one");
          });
        } catch (const tobi::task_error& e) {
          times += std::string(e.what()).find("this one") != std::string::npos ? 1 : 0;
        }
      }
      return times;
    });
    CHECK(caught == 3);
    return 0;
  });
}

// --- chunks -----------------------------------------------------------------------------------------------------

TEST_P(loops, chunks_of_several_ranges_are_next_to_each_other) {
  expect_zero([](tobi::runtime&) {
    for (const std::size_t n : {0, 1, 5, 1000, 40000, 100003}) {
      const auto a = tobi::allocate_all<int>(n + 1), b = tobi::allocate_all<int>(n + 1, tobi::block_cyclic(65536));
      const auto c = tobi::allocate_all<std::int64_t>(n + 1);
      const bool right = tobi::run([=] {
        tobi::iota(a, 0);
        tobi::fill(b, 3);
        tobi::fill(c, std::int64_t{-1});
        const auto body = [=](std::size_t first, std::size_t count, const int* x, int* y, std::int64_t* z) {
          for (std::size_t i = 0; i < count; ++i) {
            if (x[i] != static_cast<int>(first + i)) throw std::logic_error("not that element");
            y[i] += x[i];
            z[i] = 2 * std::int64_t{x[i]};
          }
        };
        for (const tobi::execution_policy how :
             {tobi::par, tobi::seq, tobi::execution_policy{.cutoff = 100, .checkout_bytes = 256},
              tobi::execution_policy{.where = tobi::affinity::owner},
              tobi::execution_policy{.where = tobi::affinity::owner_computes}}) {
          tobi::for_chunks(how, tobi::in(a.first(n)), tobi::inout(b.first(n)), tobi::out(c.first(n)), body);
        }
        const auto sum = [](std::size_t, std::size_t count, const int* y, const std::int64_t* z) {
          std::int64_t total = 0;
          for (std::size_t i = 0; i < count; ++i) total += y[i] + z[i];
          return total;
        };
        const std::int64_t found =
            tobi::reduce_chunks(tobi::in(b.first(n)), tobi::in(c.first(n)), std::int64_t{5}, std::plus<>(), sum);
        const auto m = static_cast<std::int64_t>(n);
        return found == 5 + 3 * m + 7 * (m * (m - 1) / 2) && tobi::load(&c[n]) == -1 && tobi::load(&b[n]) == 3;
      });
      CHECK(right);
      tobi::free_all(a);
      tobi::free_all(b);
      tobi::free_all(c);
    }
    return 0;
  });
}

TEST_P(loops, rows_have_their_halo) {
  expect_zero([](tobi::runtime&) {
    constexpr std::size_t width = 37;
    for (const std::size_t height : {1, 2, 3, 50, 1000}) {
      const auto a = tobi::allocate_all<int>(width * height), b = tobi::allocate_all<int>(width * height);
      const bool right = tobi::run([=] {
        tobi::iota(a, 0);
        for (const std::size_t halo : {1, 2, 5}) {
          const auto up_and_down = [=](std::size_t first, std::size_t rows, const int* x, int* y) {
            for (std::size_t row = first; row < first + rows; ++row) {
              for (std::size_t i = 0; i < width; ++i, ++x, ++y) {
                const auto far = static_cast<std::ptrdiff_t>(halo * width);
                *y = (row < halo ? 0 : x[-far]) + (row + halo >= height ? 0 : x[far]);
              }
            }
          };
          for (const tobi::execution_policy how : {tobi::par, tobi::execution_policy{.cutoff = 1},
                                                   tobi::execution_policy{.where = tobi::affinity::owner}}) {
            tobi::fill(b, -1);
            tobi::for_chunks(how, tobi::in(a, width, halo), tobi::out(b, width), up_and_down);
            bool good = true;
            for (std::size_t i = 0; i < width * height; ++i) {
              const std::size_t row = i / width;
              const std::size_t far = halo * width;
              const std::size_t value = (row < halo ? 0 : i - far) + (row + halo >= height ? 0 : i + far);
              good = good && tobi::load(&b[i]) == static_cast<int>(value);
            }
            if (!good) return false;
          }
        }
        return true;
      });
      CHECK(right);
      tobi::free_all(a);
      tobi::free_all(b);
    }
    return 0;
  });
}

TEST_P(loops, ranges_that_do_not_go_together_are_refused) {
  expect_zero([](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(100), b = tobi::allocate_all<int>(100);
    const int refused = tobi::run([=] {
      int times = 0;
      const auto two = [](std::size_t, std::size_t, const int*, int*) { std::abort(); };
      const auto told = [&times](const std::exception& e, const char* text) {
        times += std::strstr(e.what(), text) != nullptr ? 1 : 0;
      };
      try {
        tobi::for_chunks(tobi::in(a), tobi::out(b.first(99)), two);
      } catch (const std::length_error& e) {
        told(e, "tobi::for_chunks: a range of 99");
      }
      try {
        tobi::for_chunks(tobi::in(a), tobi::inout(a), two);
      } catch (const std::invalid_argument& e) {
        told(e, "overlaps");
      }
      try {
        tobi::for_chunks(tobi::in(a.first(50)), tobi::out(a.subspan(49, 50)), two);
      } catch (const std::invalid_argument& e) {
        told(e, "overlaps");
      }
      try {
        tobi::for_chunks(tobi::in(a), tobi::out(b), tobi::in(a.subspan(3, 0)),
                         [](std::size_t, std::size_t, const int*, int*, const int*) { std::abort(); });
      } catch (const std::length_error& e) {
        told(e, "a range of 0");  // and not that it overlaps
      }
      tobi::for_chunks(tobi::in(a.first(0)), tobi::out(b), tobi::inout(b.subspan(5, 0)),
                       [](std::size_t, std::size_t, const int*, int*, int*) { std::abort(); });
      try {
        tobi::for_chunks(tobi::in(a, 0), tobi::out(b), two);
      } catch (const std::invalid_argument& e) {
        told(e, "0 elements");
      }
      try {
        const auto never = [](std::size_t, std::size_t, const int*, const int*) { return 1; };
        times += tobi::reduce_chunks(tobi::in(a), tobi::in(b.first(3)), 0, std::plus<>(), never);
      } catch (const std::length_error& e) {
        told(e, "tobi::reduce_chunks");
      }
      return times;
    });
    CHECK(refused == 6);
    return 0;
  });
}

// --- groups -----------------------------------------------------------------------------------------------------

void grow(tobi::global_ptr<long> count, int levels) {
  tobi::fetch_add(count, 1L);
  if (levels == 0) return;
  tobi::task_group below;
  for (int i = 0; i < 3; ++i) below.run([=] { grow(count, levels - 1); });
  if (levels % 2 == 0) below.wait();  // else by its destructor
}

TEST_P(loops, a_group_waits_for_all_that_it_ran) {
  expect_zero([](tobi::runtime&) {
    const auto count = tobi::allocate_all<long>(1);
    const bool right = tobi::run([=] {
      count[0] = 0;
      tobi::task_group nothing;
      nothing.wait();
      tobi::task_group group, other;
      for (int round = 1; round <= 3; ++round) {
        for (int i = 0; i < 50; ++i) {
          group.run([=] {
            tobi::async([=] { tobi::fetch_add(count.data(), 1L); });  // of the group, too
            tobi::fetch_add(count.data(), 1L);
          });
          other.run([] {});
        }
        group.wait();
        if (tobi::fetch_add(count.data(), 0L) != round * 100) return false;
      }
      count[0] = 0;
      grow(count.data(), 5);
      return tobi::load(count.data()) == 1 + 3 + 9 + 27 + 81 + 243;
    });
    CHECK(right);
    tobi::free_all(count);
    return 0;
  });
}

TEST_P(loops, a_group_gathers_what_its_children_throw) {
  expect_zero([](tobi::runtime&) {
    const bool right = tobi::run([] {
      {
        tobi::task_group dropped;
        dropped.run([] { throw std::runtime_error("nobody asks"); });
      }
      std::uint64_t failed = 0;
      tobi::task_group group;
      for (int i = 0; i < 10; ++i) {
        group.run([=] {
          if (i % 3 == 0) throw std::runtime_error("number " + std::to_string(i));
        });
      }
      try {
        group.wait();
      } catch (const tobi::finish_error& e) {
        failed = e.count();
      }
      group.wait();  // of nothing
      // While an exception is under way the destructor waits where it is.
      bool through = false;
      try {
        tobi::task_group left;
        for (int i = 0; i < 10; ++i) left.run([] {});
        throw std::runtime_error("out");
      } catch (const std::runtime_error&) {
        through = true;
      }
      return failed == 4 && through;
    });
    CHECK(right);
    return 0;
  });
}

INSTANTIATE_TEST_SUITE_P(, loops, testing::ValuesIn(ways()), name_of_way);

}  // namespace
