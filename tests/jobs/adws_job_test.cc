// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 6 s
// TOBI_SCHED=adws: patterns deal their parts to ranges of workers. What they compute is what they compute elsewhere. And
// where all parts are made to run at once each of them is where it should be.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <tobi/tobi.hpp>
#include <vector>

#include "tests/jobs/meeting.hpp"
#include "tests/jobs/mistakes.hpp"
#include "tests/jobs/ways.hpp"

namespace {

const setting adws{"TOBI_SCHED", "adws"}, sim{"TOBI_TRANSPORT", "sim"}, tcp{"TOBI_TRANSPORT", "ofi"};

std::vector<way> ways() {
  return {{"shm", 4, {adws}},
          {"one", 1, {adws}},
          {"the", 4, {adws, {"TOBI_DEQUE", "the"}}},
          {"sim", 4, {adws, sim, {"TOBI_NODES", "2"}}},
          {"five_nodes", 5, {adws, sim, {"TOBI_NODES", "5"}}},
          {"tcp", 4, {adws, tcp, {"TOBI_NODES", "2"}}},
          {"debug", 4, {adws, sim, {"TOBI_NODES", "2"}, {"TOBI_DEBUG_MIGRATE", "1"}, {"TOBI_DEBUG_GLOBAL", "1"}}}};
}

// Those in which a task stays where it has gone: under TOBI_DEBUG_MIGRATE it moves at each fork.
std::vector<way> sure_ways() {
  std::vector<way> all = ways();
  all.pop_back();
  return all;
}

class shares : public in_each_way {};
INSTANTIATE_TEST_SUITE_P(all, shares, testing::ValuesIn(ways()),
                         [](const auto& i) { return std::string(i.param.name); });
class sure_shares : public in_each_way {};
INSTANTIATE_TEST_SUITE_P(all, sure_shares, testing::ValuesIn(sure_ways()),
                         [](const auto& i) { return std::string(i.param.name); });

// The work of a loop whose iterations are alike.
std::size_t count(std::size_t first, std::size_t last) { return last - first; }

TEST_P(sure_shares, each_part_of_a_loop_is_at_its_worker_in_each_execution) {
  expect_zero([](tobi::runtime& rt) {
    const auto workers = static_cast<std::size_t>(rt.size());
    const meeting all(workers);
    const bool sure = tobi::run([=] {
      in_a_row all_in_order;
      while (all_in_order.wants()) {
        all.again();
        // Whoever comes first waits longest, which is no load.
        const auto alike = tobi::hints(count);
        tobi::parallel_for(alike, std::size_t{0}, workers, 1, [=](std::size_t part) { all.comes(part); });
        all_in_order.was(all.in_order());
      }
      return all_in_order.is_sure();
    });
    CHECK(sure);
    return 0;
  });
}

TEST_P(sure_shares, functions_have_as_many_workers_as_their_hints_say) {
  expect_zero([](tobi::runtime& rt) {
    const auto workers = static_cast<std::size_t>(rt.size());
    if (workers < 2) return 0;
    const meeting all(workers);
    in_a_row all_in_order;
    while (all_in_order.wants()) {
      all_in_order.was(tobi::run([=] {
        all.again();
        const auto alike = tobi::hints(count);
        const auto [others, one] = tobi::parallel_invoke(
            tobi::hint(static_cast<double>(workers - 1)),
            [=] {
              return tobi::parallel_reduce(
                  alike, std::size_t{0}, workers - 1, 1, 0,
                  [=](std::size_t i) {
                    all.comes(i);
                    return 1;
                  },
                  std::plus<>());
            },
            tobi::hint(1),
            [=] {
              all.comes(workers - 1);
              return 1;
            });
        return others + one == static_cast<int>(workers) && all.in_order();
      }));
    }
    CHECK(all_in_order.is_sure());
    return 0;
  });
}

// Two iterations with a loop in each, of as many indices as the hints give it workers.
TEST_P(sure_shares, nested_loops_divide_what_their_iteration_has) {
  expect_zero([](tobi::runtime& rt) {
    const auto workers = static_cast<std::size_t>(rt.size());
    if (workers < 3) return 0;
    const meeting all(workers);
    const auto once = [=] {
      all.again();
      const auto of = [=](std::size_t i) { return i == 0 ? std::size_t{1} : workers - 1; };
      const auto work = [=](std::size_t first, std::size_t last) {
        double sum = 0;
        for (std::size_t i = first; i < last; ++i) sum += static_cast<double>(of(i));
        return sum;
      };
      tobi::parallel_for(tobi::hints(work), std::size_t{0}, std::size_t{2}, 1, [=](std::size_t i) {
        const auto alike = tobi::hints(count);
        tobi::parallel_for(alike, std::size_t{0}, of(i), 1, [=](std::size_t j) { all.comes(i + j); });
      });
      return all.in_order();
    };
    in_a_row all_in_order;
    while (all_in_order.wants()) all_in_order.was(tobi::run(once));
    CHECK(all_in_order.is_sure());
    return 0;
  });
}

// What a loop has learned: the last index alone is as much as all others.
TEST_P(sure_shares, a_loop_goes_by_what_its_last_executions_took) {
  expect_zero([](tobi::runtime& rt) {
    const auto workers = static_cast<std::size_t>(rt.size());
    if (workers < 2) return 0;
    const std::size_t n = 64;
    const auto where = tobi::allocate_all<int>(n);
    const int sure = tobi::run([=] {
      const auto part = [=](std::size_t lo, std::size_t hi) {
        for (std::size_t i = lo; i < hi; ++i) tobi::store(&where[i], tobi::detail::tobi_here());
        return 0;
      };
      const void* const name = &tobi::pieces::loop_name<decltype(part)>;
      tobi::detail::division range;
      tobi::detail::tobi_division_get(&range);
      tobi::detail::loop_loads known;
      tobi::detail::loop_seen seen;
      seen.loads.add(0, 63.0 / 64, 1e9);
      seen.loads.add(63.0 / 64, 1, 1e9 * static_cast<double>(workers - 1));
      in_a_row at_the_first;
      while (at_the_first.wants()) {
        for (int k = 0; k < 3; ++k) tobi::detail::tobi_division_learn(&range, name, n, &seen);
        if (tobi::detail::tobi_division_recall(&range, name, n, &known) != 1) return -1;
        tobi::pieces::in_shares<int>(n, 1, part, std::plus<>());
        bool all = true;
        // The loads of the last four cannot be told apart from the last one's.
        for (std::size_t k = 0; k < n - 4; ++k) all = all && tobi::load(&where[k]) == 0;
        at_the_first.was(all);
      }
      return at_the_first.is_sure() ? 1 : 0;
    });
    CHECK(sure == 1);
    return 0;
  });
}

TEST_P(shares, every_index_is_executed_once_and_sums_are_the_same) {
  expect_zero([](tobi::runtime&) {
    for (const std::size_t n : {1ul, 2ul, 3ul, 5ul, 64ul, 1000ul, 6000ul}) {
      const auto times = tobi::allocate_all<int>(n);
      const int wrong = tobi::run([=] {
        tobi::fill(times, 0);
        tobi::parallel_for(std::size_t{0}, n, [=](std::size_t i) { tobi::fetch_add(&times[i], 1); });
        tobi::parallel_for(std::size_t{0}, n, 3, [=](std::size_t i) { tobi::fetch_add(&times[i], 1); });
        if (tobi::count_if(times, [](int k) { return k == 2; }) != n) return 1;
        // By the same tree of halves as without a range.
        const auto term = [](std::size_t i) { return 1.0 / static_cast<double>(i + 1); };
        const auto sum = [=] { return tobi::parallel_reduce(std::size_t{0}, n, 0.0, term, std::plus<>()); };
        const auto in_tens = [=] { return tobi::parallel_reduce(std::size_t{0}, n, 10, 0.0, term, std::plus<>()); };
        const double divided = sum(), divided_in_tens = in_tens();
        const tobi::pieces::within_division none(tobi::detail::division{});
        return divided == sum() && divided_in_tens == in_tens() ? 0 : 2;
      });
      CHECK(wrong == 0);
    }
    return 0;
  });
}

TEST_P(shares, algorithms_are_right) {
  expect_zero([](tobi::runtime& rt) {
    const std::size_t n = 50000;
    const auto a = tobi::allocate_all<std::uint64_t>(n), b = tobi::allocate_all<std::uint64_t>(n);
    // On one worker's memory, so that nothing begins at the owners of its data.
    const bool right = tobi::run([=] {
      const tobi::global_span<std::uint64_t> own(tobi::allocate_global<std::uint64_t>(n), n);
      for (const auto& all : {a, own}) {
        tobi::parallel_for(std::size_t{0}, n, 500, [=](std::size_t first, std::size_t last) {
          std::uint64_t i = first;
          for (std::uint64_t& x : tobi::checkout(all.subspan(first, last - first), tobi::mode::write)) {
            x = i++ * 2654435761u % 100003;
          }
        });
        const std::uint64_t sum = tobi::reduce(all, std::uint64_t{0});
        tobi::transform(all, b, [](std::uint64_t x) { return x + 1; });
        if (tobi::reduce(b, std::uint64_t{0}) != sum + n) return false;
        tobi::sort(all);
        if (!tobi::is_sorted(all) || tobi::reduce(all, std::uint64_t{0}) != sum) return false;
        for (const std::uint64_t least : {0u, 1u, 50000u, 99000u, 100003u}) {
          const auto is_less = [least](std::uint64_t x) { return x < least; };
          const auto found = tobi::find_if(all, [least](std::uint64_t x) { return x >= least; });
          if (static_cast<std::size_t>(found - all.data()) != tobi::count_if(all, is_less)) return false;
        }
        // As without a range.
        tobi::shuffle(all, 7);
        tobi::copy(all, b);
        tobi::sort(all);
        const tobi::pieces::within_division none(tobi::detail::division{});
        tobi::shuffle(all, 7);
        if (!tobi::equal(all, b)) return false;
      }
      tobi::free_global(own.data(), n);
      return true;
    });
    CHECK(right);
    CHECK(rt.sched_name() == "adws");
    return 0;
  });
}

// A pattern's caller has its range behind the pattern, also where that has gone wrong; and a part of one worker has none.
TEST_P(shares, a_range_is_what_it_was_behind_each_pattern) {
  expect_zero([](tobi::runtime& rt) {
    const bool many = rt.size() > 1;
    const auto data = tobi::allocate_all<int>(1000);
    const int wrong = tobi::run([=] {
      const auto divides = [] { return tobi::pieces::divides(); };
      if (divides() != many) return 1;
      const bool in_parts = tobi::parallel_reduce(
          0, 1000, 1, false, [=](int) { return divides(); }, [](bool x, bool y) { return x || y; });
      if (in_parts || divides() != many) return 2;
      tobi::parallel_for(tobi::on(data), 0, 1000, 10, [](int) {});
      if (divides() != many) return 3;
      bool thrown = false;
      try {
        tobi::parallel_for(0, 1000, 1, [](int i) {
          if (i == 997) throw std::runtime_error("index 997");
        });
      } catch (const tobi::task_error& e) {
        thrown = std::string(e.what()).find("index 997") != std::string::npos;
      }
      if (!thrown || divides() != many) return 4;
      try {
        thrown = false;
        tobi::parallel_invoke([] { return 1; }, []() -> int { throw std::runtime_error("the second"); });
      } catch (const tobi::task_error& e) {
        thrown = std::string(e.what()).find("the second") != std::string::npos;
      }
      if (!thrown || divides() != many) return 5;
      // What a task does that suspends it.
      const auto later = tobi::allocate_all<int>(100);
      if (divides() != many) return 6;
      const auto promised = tobi::make_promise<int>();
      tobi::parallel_invoke([=] { promised.set(7); }, [=] { return promised.get_future().join(); });
      tobi::migrate_to(0);
      tobi::free_all(later);
      return divides() == many ? 0 : 7;
    });
    CHECK(wrong == 0);
    return 0;
  });
}

// Divide and conquer by functions with hints, several levels deep: sums over a tree of random shape.
std::int64_t tree_sum(std::uint64_t seed, std::int64_t size) {
  if (size <= 1) return size;
  const std::uint64_t next = seed * 6364136223846793005u + 1442695040888963407u;
  const std::int64_t left = 1 + static_cast<std::int64_t>((next >> 33) % static_cast<std::uint64_t>(size - 1));
  const auto [a, b] = tobi::parallel_invoke(
      tobi::hint(static_cast<double>(left)), [=] { return tree_sum(next, left); },
      tobi::hint(static_cast<double>(size - left)), [=] { return tree_sum(next + 1, size - left); });
  return a + b;
}

TEST_P(shares, random_trees_of_hinted_functions_are_summed) {
  expect_zero([](tobi::runtime&) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CHECK(tobi::run([=] { return tree_sum(seed, 3000); }) == 3000);
    }
    return 0;
  });
}

// Hints that say nothing, or something wrong, are hints.
TEST_P(shares, hints_without_sense_do_no_harm) {
  expect_zero([](tobi::runtime&) {
    const int wrong = tobi::run([] {
      const double no = std::numeric_limits<double>::quiet_NaN(), all = std::numeric_limits<double>::infinity();
      for (const double work : {0.0, -1.0, no, all, 1e-300}) {
        const auto [a, b, c] = tobi::parallel_invoke(
            tobi::hint(work), [] { return 1; }, [] { return 2; }, tobi::hint(work), [] { return 3; });
        if (a + 10 * b + 100 * c != 321) return 1;
        const auto told = tobi::hints([=](int, int) { return work; });
        if (tobi::parallel_reduce(
                told, 0, 100, 1, 0, [](int i) { return i; }, std::plus<>()) != 4950)
          return 2;
      }
      tobi::parallel_invoke(tobi::hint(1), [] {});
      tobi::parallel_invoke([] {}, tobi::hint(2), [] {}, [] {});
      return 0;
    });
    CHECK(wrong == 0);
    return 0;
  });
}

}  // namespace
