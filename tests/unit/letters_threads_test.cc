// SPDX-License-Identifier: Apache-2.0
// lane: computes, 1 s
// Letters (libcore/pgas/letters.hpp) under real concurrency: each rank is a thread of one process, writes letters to all
// others and executes its own, while it also updates numbers under their locks and by atomics, as tasks with few
// numbers do. No addition is lost, of any kind of number.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "libcore/base/rng.hpp"
#include "libcore/pgas/letters.hpp"
#include "libcore/pgas/updates.hpp"
#include "memory_transport.hpp"

namespace {

using namespace tobi;

constexpr std::size_t numbers = 3000;  // of a kind; those of 8 bytes lie in two lots

// One rank's memory: what would be its heap region.
struct region {
  pgas::letter_box box{};
  pgas::update_locks locks{};
  alignas(64) std::uint8_t bell = 0;
  alignas(64) std::uint64_t words[numbers]{};
  double reals[numbers]{};
  float floats[numbers]{};
  std::byte staging[512 * 1024]{};
};

class rank_of_test {
 public:
  rank_of_test(std::vector<std::byte*> bases, int rank)
      : own_(*reinterpret_cast<region*>(bases[static_cast<std::size_t>(rank)])),
        transport_(bases, false),
        net_(transport_, rank, static_cast<int>(bases.size()), reinterpret_cast<std::byte*>(&own_), sizeof(region),
             [](int) { return net::peer_keys{}; }),
        reader_(parts()),
        writer_(
            parts(), [this](std::size_t bytes) { return bytes <= sizeof own_.staging ? own_.staging : nullptr; },
            [this] { serve(); }) {}

  // Adds ROUNDS times to numbers of all others, each time as often as SAID of the rank and the kind says.
  void work(int rounds, std::atomic<int>& working) {
    base::rng random(static_cast<std::uint64_t>(net_.rank()) + 3);
    for (int round = 0; round < rounds; ++round) {
      for (int r = 0; r < net_.size(); ++r) {
        if (r == net_.rank()) continue;
        const std::size_t n = 1 + random.uniform(round % 8 == 0 ? 2500 : 40);
        write<std::uint64_t>(r, offsetof(region, words), n, random);
        write<double>(r, offsetof(region, reals), n, random);
        write<float>(r, offsetof(region, floats), n, random);
      }
      if (random.uniform(2) == 0) add_under_lock(random);
      writer_.finish();
    }
    working.fetch_sub(1);
    while (working.load() != 0) serve();
  }
  [[nodiscard]] double added() const noexcept { return added_; }

 private:
  [[nodiscard]] pgas::letter_parts parts() {
    return {&net_, &own_.box, &own_.bell, reinterpret_cast<std::byte*>(&own_), &own_.locks};
  }
  void serve() {
    if (std::atomic_ref(own_.bell).load(std::memory_order_relaxed) != 0) reader_.serve();
  }
  // N numbers, next to each other or not; those under locks in runs that lie in one lot.
  template <class T>
  void write(int rank, std::size_t where, std::size_t n, base::rng& random) {
    std::array<T, 7> values;
    for (std::size_t done = 0; done < n;) {
      const std::size_t i = random.uniform(numbers - values.size());
      std::size_t run = std::min<std::size_t>(1 + random.uniform(values.size()), n - done);
      const std::uint64_t home = where + i * sizeof(T);
      const std::uint64_t left = pgas::update_locks::lot_bytes - home % pgas::update_locks::lot_bytes;
      run = std::min<std::size_t>(run, left / sizeof(T));
      for (std::size_t k = 0; k < run; ++k) {
        values[k] = static_cast<T>(1 + random.uniform(3));
        added_ += static_cast<double>(values[k]);
      }
      writer_.add(rank, tobi::detail::kind_of<T>(), home, reinterpret_cast<const std::byte*>(values.data()), run);
      done += run;
    }
  }
  // What updates.cc does with few numbers: a lock, a get, a put, and the lock is given up. It serves nobody meanwhile.
  void add_under_lock(base::rng& random) {
    const int rank = static_cast<int>(random.uniform(static_cast<std::uint64_t>(net_.size())));
    const std::uint64_t home = offsetof(region, reals) + random.uniform(numbers) * sizeof(double);
    const net::location lock(rank, offsetof(region, locks) + pgas::update_locks::offset_of(home));
    while (net_.compare_swap(lock, 0, 1) != 0) std::this_thread::yield();
    double value = 0;
    net_.get({rank, home}, &value, sizeof value);
    std::this_thread::yield();
    value += 1;
    const auto put = transports::op::put(net_.heap(rank), home, &value, sizeof value);
    net_.post(rank, {&put, 1});
    net_.complete(rank);
    added_ += 1;
    net_.fetch_add(lock, ~std::uint64_t{0});
  }

  region& own_;
  memory_transport transport_;
  net::fabric net_;
  pgas::letter_reader reader_;
  pgas::letter_writer writer_;
  double added_ = 0;
};

class letters : public testing::TestWithParam<int> {};

TEST_P(letters, of_all_to_all_are_executed_once) {
  const auto size = static_cast<std::size_t>(GetParam());
  std::vector<std::unique_ptr<region>> all;
  std::vector<std::byte*> bases;
  for (std::size_t r = 0; r < size; ++r) {
    all.push_back(std::make_unique<region>());
    bases.push_back(reinterpret_cast<std::byte*>(all.back().get()));
  }
  std::vector<std::unique_ptr<rank_of_test>> ranks;
  for (std::size_t r = 0; r < size; ++r) {
    ranks.push_back(std::make_unique<rank_of_test>(bases, static_cast<int>(r)));
  }
  std::atomic<int> working{static_cast<int>(size)};
  std::vector<std::thread> threads;
  for (auto& r : ranks) threads.emplace_back([&] { r->work(200, working); });
  for (auto& t : threads) t.join();
  double added = 0;
  double found = 0;
  for (const auto& r : ranks) added += r->added();
  for (const auto& r : all) {
    EXPECT_EQ(r->box.drawn, r->box.executed);
    for (const std::uint64_t w : r->words) found += static_cast<double>(w);
    found = std::accumulate(std::begin(r->reals), std::end(r->reals), found);
    for (const float f : r->floats) found += static_cast<double>(f);
  }
  EXPECT_EQ(found, added);
}

INSTANTIATE_TEST_SUITE_P(among, letters, testing::Values(2, 3, 5),
                         [](const auto& p) { return std::to_string(p.param) + "_ranks"; });

}  // namespace
