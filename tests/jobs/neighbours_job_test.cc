// SPDX-License-Identifier: Apache-2.0
// lane: computes, 10 s
// What the workers of a node read of another one is fetched by one of them. Who reads when is told by words that the
// workers share outside of the job, because a barrier would be an acquire.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "tests/jobs/ways.hpp"

namespace {

std::vector<way> two_nodes() {
  const setting sim{"TOBI_TRANSPORT", "sim"}, tcp{"TOBI_TRANSPORT", "ofi"}, nodes{"TOBI_NODES", "2"},
      heap{"TOBI_HEAP_SIZE", "128M"};
  return {{"sim", 4, {sim, nodes, heap}},
          {"sim_8", 8, {sim, nodes, heap}},
          {"tcp", 4, {tcp, nodes, heap}},
          {"no_read_ahead", 4, {sim, nodes, heap, {"TOBI_READ_AHEAD", "0"}}},
          {"write_through", 4, {sim, nodes, heap, {"TOBI_CACHE_POLICY", "write_through"}}},
          {"child", 4, {sim, nodes, heap, {"TOBI_SCHED", "child_full"}}}};
}

class neighbours_in_a_job : public in_each_way {};

INSTANTIATE_TEST_SUITE_P(ways, neighbours_in_a_job, testing::ValuesIn(two_nodes()), name_of_way);

constexpr std::size_t count = 1 << 19;  // 4 MiB
constexpr std::size_t at_once = 1000;

/// A number that all processes of a test see: how many have read.
class turns {
 public:
  turns()
      : at_(new (mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                std::atomic<int>(0)) {}
  void wait_for(int n) const {
    while (at_->load() < n) tobi::poll();
  }
  void end() const { at_->fetch_add(1); }

 private:
  std::atomic<int>* at_;
};

std::uint64_t sum_of(tobi::global_span<std::uint64_t> a) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < a.size(); at += at_once) {
    const auto part = tobi::checkout(a.subspan(at, std::min(at_once, a.size() - at)), tobi::mode::read);
    for (const std::uint64_t x : part) sum += x;
  }
  return sum;
}

/// Of the node whose workers read: all of the other one's half of A. It is filled with VALUE.
tobi::global_span<std::uint64_t> filled(std::uint64_t value) {
  const auto a = tobi::allocate_all<std::uint64_t>(count);
  tobi::run([=] { tobi::fill(a, value); });
  return a;
}

TEST_P(neighbours_in_a_job, fetch_once_what_all_read_one_behind_the_other) {
  const turns turn;
  expect_zero([=](tobi::runtime& rt) {
    const auto a = filled(3);
    const auto half = a.subspan(0, count / 2);  // of node 0
    const int first = rt.size() / 2;
    rt.barrier();
    rt.reset_stats();
    bool right = true;
    turn.end();  // behind the barrier's acquire
    if (rt.rank() >= first) {
      turn.wait_for(rt.size() + rt.rank() - first);
      right = sum_of(half) == 3 * (count / 2);
      turn.end();
    }
    rt.barrier();
    const tobi::global_statistics all = rt.stats().global;  // of the job
    rt.barrier();
    const std::uint64_t bytes = count / 2 * sizeof(std::uint64_t);
    CHECK(right && all.fetched_bytes == bytes);
    CHECK(all.copied_bytes == bytes * static_cast<std::uint64_t>(rt.size() - first - 1));
    tobi::free_all(a);
    return 0;
  });
}

TEST_P(neighbours_in_a_job, read_what_is_new_behind_each_barrier) {
  expect_zero([](tobi::runtime& rt) {
    const auto a = filled(0);
    for (std::uint64_t round = 1; round <= 10; ++round) {
      tobi::run([=] { tobi::fill(a, round); });
      CHECK(sum_of(a) == round * count);
      rt.barrier();
      // By one worker, for all.
      if (rt.rank() == static_cast<int>(round) % rt.size()) {
        tobi::store(a.data() + 5, round * 1000);
        tobi::store(a.data() + (count - 5), round * 1000);
      }
      rt.barrier();
      CHECK(sum_of(a) == round * (count + 1998));
    }
    tobi::free_all(a);
    return 0;
  });
}

TEST_P(neighbours_in_a_job, read_what_tasks_have_written_on_both_nodes) {
  expect_zero([](tobi::runtime&) {
    const auto a = tobi::allocate_all<std::uint64_t>(count, tobi::block_cyclic(8192));
    const bool right = tobi::run([=] {
      tobi::fill(a, std::uint64_t{1});
      bool so_far = true;
      for (std::uint64_t round = 1; round <= 10; ++round) {
        // Each task reads all that the round before has written, and then writes its part.
        const auto sums = tobi::parallel_reduce(
            std::size_t{0}, std::size_t{32}, std::uint64_t{0}, [=](std::size_t) { return sum_of(a); }, std::plus<>());
        so_far = so_far && sums == 32 * round * count;
        tobi::parallel_for(std::size_t{0}, std::size_t{32}, 1, [=](std::size_t k) {
          const auto part = a.subspan(k * (count / 32), count / 32);
          auto out = tobi::checkout(part, tobi::mode::read_write);
          for (std::uint64_t& x : out) ++x;
        });
      }
      return so_far;
    });
    CHECK(right);
    tobi::free_all(a);
    return 0;
  });
}

// Numbers that change at their homes, too.
TEST_P(neighbours_in_a_job, read_what_was_updated) {
  expect_zero([](tobi::runtime& rt) {
    const auto a = filled(0);
    for (std::uint64_t round = 1; round <= 10; ++round) {
      const std::uint64_t one = 1;
      for (std::size_t i = 0; i < 100; ++i) (void)tobi::fetch_add(a.data() + i * (count / 100), one);
      rt.barrier();
      CHECK(sum_of(a) == round * 100 * static_cast<std::uint64_t>(rt.size()));
      rt.barrier();
    }
    tobi::free_all(a);
    return 0;
  });
}

TEST(neighbours_apart, fetch_by_themselves) {
  const std::vector<setting> apart{{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}, {"TOBI_CACHE_SHARED", "0"}};
  const auto body = [](tobi::runtime& rt) {
    const auto a = filled(3);
    rt.barrier();
    rt.reset_stats();
    rt.barrier();
    const bool right = sum_of(a) == 3 * count;
    rt.barrier();
    const tobi::global_statistics all = rt.stats().global;
    rt.barrier();
    CHECK(right && all.copied_bytes == 0 && all.fetched_bytes == 4 * (count / 2) * sizeof(std::uint64_t));
    tobi::free_all(a);
    return 0;
  };
  const outcome o = in_job(4, {}, body, apart);
  EXPECT_EQ(o.status, 0) << o.said;
}

}  // namespace
