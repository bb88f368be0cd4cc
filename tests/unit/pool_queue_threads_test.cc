// SPDX-License-Identifier: Apache-2.0
// The queue of a task collection under real concurrency: each rank is a thread of one process, so that ThreadSanitizer
// sees them, and executes, adds and steals tasks over a transport that does nothing but execute operations on memory.
// Each task carries a number and a payload, and must be executed once, with its payload whole.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "libcore/base/rng.hpp"
#include "libcore/pool/one_sided_thief.hpp"
#include "libcore/pool/queue.hpp"
#include "memory_transport.hpp"

namespace {

using namespace tobi;

struct task {
  std::uint64_t number;
  std::uint64_t payload[5];
  void fill(std::uint64_t n) {
    number = n;
    for (std::uint64_t i = 0; i < 5; ++i) payload[i] = n * 0x9e3779b97f4a7c15u + i;
  }
  [[nodiscard]] bool is_whole() const {
    task same{};
    same.fill(number);
    return std::equal(std::begin(payload), std::end(payload), std::begin(same.payload));
  }
};

constexpr std::size_t ring_tasks = 64;

// One rank's memory: what would be its heap region.
struct region {
  pool::collection_places places{};
  alignas(64) pool::collection_words words{};
  std::byte ring[ring_tasks * sizeof(task)]{};
};
static_assert(offsetof(region, ring) == offsetof(region, words) + pool::ring_offset);

std::vector<std::byte*> bases(const std::vector<std::unique_ptr<region>>& all) {
  std::vector<std::byte*> begins;
  for (const auto& one : all) begins.push_back(reinterpret_cast<std::byte*>(one.get()));
  return begins;
}

struct way {
  const char* name;
  std::size_t ranks;
  bool maps;
  std::uint64_t capacity;
  std::uint64_t mean_ns;  // of a task, as the queue is told: how many it keeps to itself
};

class rank_of_test {
 public:
  rank_of_test(std::vector<std::unique_ptr<region>>& all, int rank, const way& how)
      : own_(*all[static_cast<std::size_t>(rank)]),
        transport_(bases(all), how.maps),
        net_(transport_, rank, static_cast<int>(all.size()), reinterpret_cast<std::byte*>(&own_), sizeof(region),
             [](int) { return net::peer_keys{}; }),
        others_(net_, own_.places, 0),
        queue_(net_, own_.words, sizeof(task), how.capacity, pool::queue::thieves::one_sided),
        choice_(rank, std::vector<int>(all.size(), 0), static_cast<std::uint64_t>(rank) + 1, {}),
        thief_(net_, others_, queue_, choice_,
               how.maps ? near(rank, static_cast<int>(all.size())) : std::vector<int>{}),
        mean_ns_(how.mean_ns) {}

  // Executes until ALL tasks are. Each has a child, while there are numbers below ALL.
  void work(std::vector<std::atomic<int>>& times, std::atomic<std::uint64_t>& executed,
            std::atomic<std::uint64_t>& next, std::atomic<bool>& stolen) {
    base::rng random(static_cast<std::uint64_t>(net_.rank()) + 7);
    task now{};
    // The rank that has all tasks begins when another one has some.
    if (net_.rank() == 0) {
      queue_.share();
      while (!stolen.load()) std::this_thread::yield();
    }
    while (executed.load() < times.size()) {
      while (queue_.take(&now)) {
        ASSERT_TRUE(now.is_whole());
        ASSERT_LT(now.number, times.size());
        queue_.took(mean_ns_);
        if (const std::uint64_t child = next.fetch_add(1); child < times.size()) {
          task added{};
          added.fill(child);
          queue_.add(&added);
        }
        if (random.uniform(16) == 0) queue_.share();            // as the attendant does
        if (random.uniform(8) == 0) std::this_thread::yield();  // a task that is long enough for others to come
        times[now.number].fetch_add(1);
        executed.fetch_add(1);
      }
      if (thief_.steal()) {
        stolen.store(true);
      } else {
        std::this_thread::yield();
      }
    }
  }
  void add(std::uint64_t number) {
    task added{};
    added.fill(number);
    queue_.add(&added);
  }
  [[nodiscard]] std::uint64_t steals() const { return thief_.steals(); }

 private:
  static std::vector<int> near(int self, int ranks) {
    std::vector<int> all;
    for (int r = 0; r < ranks; ++r) {
      if (r != self) all.push_back(r);
    }
    return all;
  }

  region& own_;
  memory_transport transport_;
  net::fabric net_;
  pool::peers others_;
  pool::queue queue_;
  sched::victims choice_;
  pool::one_sided_thief thief_;
  std::uint64_t mean_ns_;
};

class pool_queue : public testing::TestWithParam<way> {};

TEST_P(pool_queue, gives_each_task_to_one_rank_whole) {
  constexpr std::uint64_t tasks_in_all = 20'000;
  const way how = GetParam();
  std::vector<std::unique_ptr<region>> all;
  for (std::size_t r = 0; r < how.ranks; ++r) {
    all.push_back(std::make_unique<region>());
    all.back()->places.at[0] = offsetof(region, words);
  }
  std::vector<std::unique_ptr<rank_of_test>> ranks;
  for (std::size_t r = 0; r < how.ranks; ++r)
    ranks.push_back(std::make_unique<rank_of_test>(all, static_cast<int>(r), how));
  std::vector<std::atomic<int>> times(tasks_in_all);
  std::atomic<std::uint64_t> executed{0};
  std::atomic<std::uint64_t> next{200};
  std::atomic<bool> stolen{false};
  for (std::uint64_t i = 0; i < 200; ++i) ranks[0]->add(i);
  std::vector<std::thread> threads;
  for (auto& r : ranks) threads.emplace_back([&] { r->work(times, executed, next, stolen); });
  for (auto& t : threads) t.join();
  std::uint64_t steals = 0;
  for (auto& r : ranks) steals += r->steals();
  EXPECT_GT(steals, 0u);
  for (std::uint64_t i = 0; i < tasks_in_all; ++i) ASSERT_EQ(times[i].load(), 1) << i;
}

INSTANTIATE_TEST_SUITE_P(over, pool_queue,
                         testing::Values(way{"mapped", 4, true, ring_tasks, 2'000},
                                         way{"by_the_fabric", 4, false, ring_tasks, 2'000},
                                         way{"all_shared", 3, true, ring_tasks, 1'000'000},
                                         way{"small_rings", 4, true, 3, 5'000},
                                         way{"a_ring_of_one", 3, false, 1, 5'000}),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
