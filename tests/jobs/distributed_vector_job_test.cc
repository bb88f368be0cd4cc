// SPDX-License-Identifier: Apache-2.0
// lane: computes, 20 s
// distributed_vector: made, moved and ended by all workers, in tasks and in main.
#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "tests/jobs/ways.hpp"

namespace {

using tobi::distributed_vector;
using tobi::global_vector;

class distributed_vectors : public in_each_way {};

INSTANTIATE_TEST_SUITE_P(
    ways, distributed_vectors,
    testing::ValuesIn(usual_ways_and(
        {{"child_full", 3, {{"TOBI_SCHED", "child_full"}}},
         {"no_cache", 4, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}, {"TOBI_CACHE_POLICY", "none"}}}})),
    name_of_way);

constexpr std::size_t sizes[] = {0, 1, 1000, 10'007};

/// The sum of what one task or worker reads.
long sum_of(const distributed_vector<long>& v) {
  long sum = 0;
  for (std::size_t at = 0; at < v.size(); at += 500) {
    for (const long x :
         tobi::checkout(v.span().subspan(at, std::min<std::size_t>(500, v.size() - at)), tobi::mode::read)) {
      sum += x;
    }
  }
  return sum;
}

bool has(const distributed_vector<long>& v, std::size_t count, long sum) {
  return v.size() == count && v.empty() == (count == 0) && v.capacity() >= count && v.span().size() == count &&
         sum_of(v) == sum;
}

/// What a vector does from one size to others; nothing but calls that all make.
bool lives(std::size_t n, tobi::distribution how) {
  const auto count = static_cast<long>(n);
  distributed_vector<long> v(n, how, 7L);
  bool right = has(v, n, 7 * count);
  v.resize(2 * n + 5, 9L);
  right = right && has(v, 2 * n + 5, 16 * count + 45);
  v.resize(n + 1);
  right = right && has(v, n + 1, 7 * count + 9);
  const auto room = v.data();
  v.resize(n + 3, 1L);  // in the room that there is
  right = right && has(v, n + 3, 7 * count + 11) && v.data() == room;
  v.reserve(3 * n + 100);
  right = right && has(v, n + 3, 7 * count + 11) && v.capacity() == 3 * n + 100;
  v.clear();
  right = right && has(v, 0, 0) && v.capacity() == 3 * n + 100;
  v.resize(10);
  right = right && has(v, 10, 0);  // zeros
  distributed_vector<long> other(3, tobi::block(), 1L);
  v.swap(other);
  right = right && has(v, 3, 3) && has(other, 10, 0);
  v = std::move(other);
  right = right && has(v, 10, 0);
  distributed_vector<long> last(std::move(v));
  return right && has(last, 10, 0) && v.empty() && v.capacity() == 0;
}

TEST_P(distributed_vectors, grow_and_shrink_in_a_task) {
  expect_zero([](tobi::runtime&) {
    for (const std::size_t n : sizes) {
      for (const tobi::distribution how : {tobi::block(), tobi::block_cyclic(4096)}) {
        CHECK(tobi::run([=] { return lives(n, how); }));
      }
    }
    return 0;
  });
}
TEST_P(distributed_vectors, grow_and_shrink_in_main) {
  expect_zero([](tobi::runtime&) {
    for (const std::size_t n : sizes) {
      for (const tobi::distribution how : {tobi::block(), tobi::block_cyclic(4096)}) CHECK(lives(n, how));
    }
    return 0;
  });
}

// Each worker writes elements of the next one, without a barrier: it is the vector that meets.
TEST_P(distributed_vectors, take_along_what_workers_have_written) {
  expect_zero([](tobi::runtime& rt) {
    const auto each = std::size_t{700};
    const auto all = static_cast<std::size_t>(rt.size());
    distributed_vector<long> v(each * all);
    for (int round = 0; round < 4; ++round) {
      const auto next = static_cast<std::size_t>((rt.rank() + 1) % rt.size());
      for (long& x : tobi::checkout(v.span().subspan(next * each, each), tobi::mode::read_write)) x += rt.rank();
      v.reserve(v.capacity() + 1);
    }
    const auto total = 4 * static_cast<long>(each) * static_cast<long>(all * (all - 1) / 2);
    CHECK(has(v, each * all, total));
    return 0;
  });
}

TEST_P(distributed_vectors, go_from_task_to_task) {
  expect_zero([](tobi::runtime&) {
    const long sum = tobi::run([] {
      auto made = tobi::spawn([] { return distributed_vector<long>(1000, tobi::block_cyclic(1), 2L); });
      distributed_vector<long> v = made.join();
      auto doubled = tobi::spawn(
          [](distributed_vector<long> given) {
            tobi::for_each(given.span(), [](long& x) { x *= 2; });
            return given;
          },
          std::move(v));
      return sum_of(doubled.join());
    });
    CHECK(sum == 4000);
    return 0;
  });
}

TEST_P(distributed_vectors, end_under_an_exception) {
  expect_zero([](tobi::runtime&) {
    const int caught = tobi::run([] {
      int times = 0;
      for (int i = 0; i < 3; ++i) {
        try {
          const distributed_vector<long> v(1000);
          throw std::runtime_error("thrown");
        } catch (const std::runtime_error&) {
          ++times;
        }
      }
      return times;
    });
    CHECK(caught == 3);
    return 0;
  });
}

// --- elements that own something -----------------------------------------------------------------------------

long live = 0;  // of this process: what is made here may end elsewhere

struct list {
  explicit list(long first) : elements(3, first) { ++live; }
  list(list&& other) noexcept : elements(std::move(other.elements)) { ++live; }
  ~list() { --live; }
  global_vector<long> elements;
};

long sum_of_lists(tobi::global_span<list> lists) {
  return tobi::transform_reduce(lists, 0L, std::plus<>{}, [](const list& one) {
    long sum = 0;
    for (const long x : tobi::checkout(one.elements.span(), tobi::mode::read)) sum += x;
    return sum;
  });
}

TEST_P(distributed_vectors, make_and_end_each_element_once) {
  expect_zero([](tobi::runtime& rt) {
    for (const tobi::distribution how : {tobi::block(), tobi::block_cyclic(4096)}) {
      const long sum = tobi::run([=] {
        distributed_vector<list> v(500, how, 2L);
        long all = sum_of_lists(v.span());
        v.resize(2000, 1L);
        all += sum_of_lists(v.span());
        v.truncate(100);
        return all + sum_of_lists(v.span());
      });
      CHECK(sum == 500 * 6 + 500 * 6 + 1500 * 3 + 100 * 6);
      CHECK(rt.reduce(live) == 0);
      {
        distributed_vector<list> v(300, how, 5L);
        v.resize(700, 1L);
        CHECK(rt.reduce(live) == 700);
        const long in_run = tobi::run([lists = v.span()] { return sum_of_lists(lists); });
        CHECK(in_run == 300 * 15 + 400 * 3);
      }
      CHECK(rt.reduce(live) == 0);
    }
    return 0;
  });
}

}  // namespace
