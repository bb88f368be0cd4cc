// SPDX-License-Identifier: Apache-2.0
// lane: computes, 10 s
// Arrays that nobody writes for a while: what was fetched of them is not fetched again, and is right when they are
// written afterwards.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "tests/jobs/mistakes.hpp"
#include "tests/jobs/ways.hpp"

namespace {

class read_only_arrays : public in_each_way {};
class read_only_arrays_apart : public in_each_way {};

std::vector<way> all_ways() {
  return usual_ways_and(
      {{"write_through", 4, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}, {"TOBI_CACHE_POLICY", "write_through"}}}});
}
// Where each worker fetches by itself, so that the bytes can be counted.
std::vector<way> ways_apart() {
  std::vector<way> all = all_ways();
  for (way& one : all) one.env.emplace_back("TOBI_CACHE_SHARED", "0");
  return all;
}

INSTANTIATE_TEST_SUITE_P(ways, read_only_arrays, testing::ValuesIn(all_ways()), name_of_way);
INSTANTIATE_TEST_SUITE_P(ways, read_only_arrays_apart, testing::ValuesIn(ways_apart()), name_of_way);

constexpr std::size_t count = 40'000;

/// The sum, read by this worker, chunk by chunk.
long sum_of(tobi::global_span<long> a) {
  long sum = 0;
  for (std::size_t at = 0; at < a.size(); at += 1000) {
    const auto part = tobi::checkout(a.subspan(at, 1000), tobi::mode::read);
    for (const long x : part) sum += x;
  }
  return sum;
}

std::uint64_t fetched(tobi::runtime& rt) { return rt.stats().global.fetched_bytes; }

// The program's barrier is an acquire. Each worker reads all of the array in each round.
TEST_P(read_only_arrays_apart, are_fetched_once) {
  expect_zero([](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<long>(count, tobi::block_cyclic(4096));
    tobi::run([=] { tobi::fill(a, 1L); });
    const auto read = [&](int rounds) {
      rt.reset_stats();
      bool right = true;
      for (int i = 0; i < rounds; ++i) {
        right = right && sum_of(a) == static_cast<long>(count);
        rt.barrier();
      }
      const std::uint64_t bytes = fetched(rt);
      return right ? bytes : ~std::uint64_t{0};
    };
    const std::uint64_t once = read(1);
    CHECK(read(3) == 3 * once);
    tobi::set_read_only(a);
    CHECK(read(3) == once);
    CHECK(read(2) == 0);
    const long sum = tobi::run([=] { return tobi::reduce(a, 0L); });
    CHECK(sum == static_cast<long>(count) && read(1) == 0);
    tobi::set_writable(a);
    CHECK(read(3) == 3 * once);
    tobi::free_all(a);
    return 0;
  });
}

TEST_P(read_only_arrays, are_written_again) {
  expect_zero([](tobi::runtime&) {
    const auto a = tobi::allocate_all<long>(count);
    const auto n = static_cast<long>(count);
    // In main, where each worker looks at all of it.
    for (long round = 1; round < 4; ++round) {
      tobi::run([=] { tobi::fill(a, round); });
      tobi::set_read_only(a);
      CHECK(sum_of(a) == n * round);
      CHECK(tobi::run([=] { return tobi::reduce(a, 0L); }) == n * round);
      tobi::set_writable(a);
    }
    // In a run.
    const bool right = tobi::run([=] {
      bool so_far = true;
      for (long round = 1; round < 4; ++round) {
        tobi::fill(a, round);
        tobi::set_read_only(a);
        for (int i = 0; i < 3; ++i) so_far = so_far && tobi::reduce(a, 0L) == n * round;
        so_far = so_far && tobi::on_all_workers([=](tobi::runtime& here) { return here.reduce(sum_of(a)); }) ==
                               n * round * tobi::on_all_workers([](tobi::runtime& here) { return here.size(); });
        tobi::set_writable(a);
      }
      return so_far;
    });
    CHECK(right);
    tobi::free_all(a);
    return 0;
  });
}

// What is allocated where one lay may be written.
TEST_P(read_only_arrays, leave_nothing_behind_when_they_are_freed) {
  expect_zero([](tobi::runtime&) {
    for (long round = 1; round < 4; ++round) {
      const auto a = tobi::allocate_all<long>(count);
      tobi::run([=] { tobi::fill(a, round); });
      tobi::set_read_only(a);
      CHECK(sum_of(a) == static_cast<long>(count) * round);
      tobi::free_all(a);
    }
    return 0;
  });
}

// --- mistakes ----------------------------------------------------------------------------------------------

const environment two_nodes{{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}};
const environment watched{{"TOBI_DEBUG_GLOBAL", "1"}};
constexpr const char* refused = "is of an array that tobi::set_read_only was given; call tobi::set_writable before";

template <class Body>
void is_refused(const char* sentence, environment env, Body body) {
  ends_with(sentence, 2, env, [=](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<long>(count);
    tobi::run([=] { tobi::fill(a, 1L); });
    tobi::set_read_only(a);
    body(rt, a);
    rt.barrier();
    return 0;
  });
}

TEST(a_read_only_array, is_not_written_on_another_node) {
  is_refused(refused, two_nodes, [](tobi::runtime& rt, tobi::global_span<long> a) {
    if (rt.rank() == 0) tobi::store(&a[count - 1], 2L);
  });
  // Where it is in the cache already.
  is_refused(refused, two_nodes, [](tobi::runtime& rt, tobi::global_span<long> a) {
    if (rt.rank() == 0 && tobi::load(&a[count - 1]) == 1) tobi::store(&a[count - 1], 2L);
  });
}
TEST(a_read_only_array, is_not_written_on_this_node_where_that_is_watched) {
  is_refused(refused, watched, [](tobi::runtime& rt, tobi::global_span<long> a) {
    if (rt.rank() == 0) tobi::store(&a[0], 2L);
  });
}
TEST(a_read_only_array, is_not_updated) {
  is_refused(refused, {}, [](tobi::runtime& rt, tobi::global_span<long> a) {
    if (rt.rank() == 0) (void)tobi::fetch_add(&a[0], 2L);
  });
}
TEST(a_read_only_array, is_what_all_workers_have_allocated) {
  is_refused("tobi::set_read_only was called with an address that all workers have not allocated together", {},
             [](tobi::runtime&, tobi::global_span<long> a) { tobi::set_read_only(a.subspan(1, 10)); });
}
TEST(a_read_only_array, is_the_same_on_all_workers) {
  is_refused("the workers call tobi::set_writable with different arrays", {},
             [](tobi::runtime& rt, tobi::global_span<long> a) {
               const auto b = tobi::allocate_all<long>(10);
               tobi::set_writable(rt.rank() == 0 ? a : b);
             });
  is_refused("the workers call tobi::free_all with different arrays", {},
             [](tobi::runtime& rt, tobi::global_span<long> a) {
               const auto b = tobi::allocate_all<long>(10);
               tobi::free_all(rt.rank() == 0 ? a : b);
             });
}

}  // namespace
