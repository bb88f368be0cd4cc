// SPDX-License-Identifier: Apache-2.0
// Caches of two workers of one node, in one thread, and memory of a third one elsewhere: what each fetches, and what it
// copies from the other. And the copies themselves, while another thread takes their places away.
#include "libcore/pgas/neighbours.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "libcore/base/rng.hpp"
#include "libcore/pgas/cache.hpp"
#include "tests/unit/two_regions.hpp"

namespace {

using namespace tobi;
using pgas::access;

constexpr std::size_t block = 4096;
constexpr std::size_t piece = 512;
constexpr std::size_t region_bytes = 512 * block;
constexpr std::uint64_t view_bytes = 4096 * block;
constexpr std::size_t cache_blocks = 4;
constexpr int away = 2;

// One worker of the node {0, 1}.
class worker {
 public:
  worker(int rank, std::array<worker*, 2>& node, std::shared_ptr<two_regions::bytes> far, std::size_t ahead_bytes)
      : memory(away, region_bytes, std::move(far)),
        net_(memory, rank, 3, memory.own, region_bytes, [](int) { return net::peer_keys{}; }),
        near_(near_parts(rank, node)) {
    pgas::cache_parts parts;
    parts.addresses = &view_;
    parts.where = &homes_;
    parts.net = &batch_;
    parts.node = &near_;
    parts.rank = rank;
    parts.own_region = memory.own;
    parts.own_fd = memory.fd;
    parts.region_here = [&node](int r) { return r == away ? nullptr : node[static_cast<std::size_t>(r)]->memory.own; };
    parts.take_pool = [this](std::size_t) { return memory.own + region_bytes / 2; };
    parts.block_bytes = block;
    parts.sub_block_bytes = piece;
    parts.cache_bytes = cache_blocks * block;
    parts.ahead_bytes = ahead_bytes;
    cache_ = std::make_unique<pgas::cache>(parts);
    cache_->limit_maps(1000);
  }

  void join() { near_.join(); }
  /// Piece I of the memory elsewhere.
  long read(std::size_t i) {
    cache_->checkout(at(i), piece, access::read, true);
    const long value = *reinterpret_cast<long*>(at(i));
    cache_->checkin(at(i), piece, access::read);
    EXPECT_TRUE(cache_->is_valid());
    return value;
  }
  void write(std::size_t i, long value) {
    cache_->checkout(at(i), piece, access::write, true);
    *reinterpret_cast<long*>(at(i)) = value;
    cache_->checkin(at(i), piece, access::write);
  }
  void start_reading(std::size_t i) { cache_->checkout(at(i), piece, access::read, false); }
  void end_reading(std::size_t i) { cache_->checkin(at(i), piece, access::read); }
  void release() {
    cache_->write_back();
    near_.settle();
  }
  void acquire_from(int rank) { cache_->invalidate(rank); }
  void forget(std::size_t i) { cache_->forget(at(i) - base(), piece, false); }
  [[nodiscard]] std::uint64_t fetched() { return std::exchange(cache_->counts().fetched_bytes, 0); }
  [[nodiscard]] std::uint64_t copied() { return std::exchange(cache_->counts().copied_bytes, 0); }
  [[nodiscard]] pgas::cache& all() { return *cache_; }
  [[nodiscard]] pgas::neighbours& near() { return near_; }
  [[nodiscard]] std::uintptr_t at(std::size_t i) const { return base() + homes_.of_object(away, 0) + i * piece; }

  two_regions memory;

 private:
  [[nodiscard]] std::uintptr_t base() const { return reinterpret_cast<std::uintptr_t>(view_.base()); }
  pgas::neighbour_parts near_parts(int rank, std::array<worker*, 2>& node) {
    pgas::neighbour_parts parts;
    parts.rank = rank;
    parts.node = {0, 1};
    parts.own_region = memory.own;
    parts.words = reinterpret_cast<pgas::neighbour_words*>(memory.own);
    parts.region_here = [&node](int r) { return node[static_cast<std::size_t>(r)]->memory.own; };
    parts.take = [this](std::size_t bytes, std::size_t) {
      void* const made = memory.own + taken_;
      taken_ += (bytes + 63) / 64 * 64;
      return made;
    };
    parts.give_back = [](void*) {};
    parts.block_bytes = block;
    parts.sub_block_bytes = piece;
    parts.cache_blocks = cache_blocks;
    return parts;
  }

  std::size_t taken_ = 4096;
  net::fabric net_;
  net::batch batch_{net_};
  pgas::view view_{view_bytes};
  pgas::homes homes_{3, region_bytes, 0, view_bytes, block};
  pgas::neighbours near_;
  std::unique_ptr<pgas::cache> cache_;
};

class neighbours : public testing::Test {
 protected:
  explicit neighbours(std::size_t ahead_bytes = 0) : a(0, node_, far_, ahead_bytes), b(1, node_, far_, ahead_bytes) {
    node_ = {&a, &b};
    a.join();
    b.join();
    for (std::size_t i = 0; i < region_bytes / piece; ++i) home(i) = static_cast<long>(i);
  }
  [[nodiscard]] long& home(std::size_t i) { return *reinterpret_cast<long*>(far_->data() + i * piece); }

 private:
  std::shared_ptr<two_regions::bytes> far_ = std::make_shared<two_regions::bytes>(region_bytes);
  std::array<worker*, 2> node_{};

 protected:
  worker a, b;
};

constexpr std::size_t per_block = block / piece;

TEST_F(neighbours, copy_what_one_has_fetched) {
  EXPECT_EQ(a.read(3), 3);
  EXPECT_EQ(a.fetched(), piece);
  EXPECT_EQ(b.read(3), 3);
  EXPECT_EQ(b.fetched(), 0U);
  EXPECT_EQ(b.copied(), piece);
  // Each the other's half of a block.
  EXPECT_EQ(b.read(4), 4);
  EXPECT_EQ(a.read(4), 4);
  EXPECT_EQ(a.copied(), piece);
  EXPECT_EQ(a.fetched() + b.fetched(), piece);
}

TEST_F(neighbours, do_not_copy_what_is_older_than_their_acquire) {
  EXPECT_EQ(a.read(0), 0);
  home(0) = 100;  // by a task elsewhere
  b.acquire_from(-1);
  EXPECT_EQ(b.read(0), 100);
  EXPECT_EQ(b.copied(), 0U);
  EXPECT_EQ(a.read(0), 0) << "nothing was acquired here";
  a.acquire_from(-1);
  EXPECT_EQ(a.read(0), 100);
}

// A task that goes on at its neighbour's may read what is there, and what is here of the same time.
TEST_F(neighbours, inherit_what_one_may_read) {
  a.acquire_from(-1);
  EXPECT_EQ(a.read(0), 0);
  EXPECT_EQ(b.read(1), 1);
  EXPECT_EQ(a.fetched() + b.fetched(), 2 * piece);
  b.acquire_from(0);
  EXPECT_EQ(b.read(0), 0);
  EXPECT_EQ(b.read(1), 1);
  EXPECT_EQ(b.fetched(), 0U);
  // What is here from before the neighbour's acquire is too old.
  home(1) = 101;
  a.acquire_from(-1);
  b.acquire_from(0);
  EXPECT_EQ(b.read(1), 101);
}

// What was copied is as old as it was there, however late it was copied.
TEST_F(neighbours, do_not_keep_what_they_copied_from_before_the_acquire_that_they_inherit) {
  EXPECT_EQ(a.read(0), 0);
  home(0) = 100;
  a.acquire_from(-1);
  EXPECT_EQ(b.read(0), 0);
  EXPECT_EQ(b.copied(), piece);
  b.acquire_from(0);
  EXPECT_EQ(b.read(0), 100);
}

// A third worker that goes on with what this one shows must know it, too.
TEST_F(neighbours, hand_on_what_they_inherit) {
  const auto said = [](worker& w) { return reinterpret_cast<pgas::neighbour_words*>(w.memory.own)->copies_from; };
  a.acquire_from(-1);
  EXPECT_LT(said(b), said(a));
  b.acquire_from(0);
  EXPECT_EQ(said(b), said(a));
}

TEST_F(neighbours, fetch_anew_what_one_of_them_has_changed) {
  EXPECT_EQ(a.read(0), 0);
  EXPECT_EQ(b.read(0), 0);
  EXPECT_EQ(a.read(2), 2);
  b.write(0, 50);
  b.release();
  EXPECT_EQ(home(0), 50);
  a.acquire_from(1);
  EXPECT_EQ(a.read(0), 50);
  // The writer itself, when its block has gone: what the neighbour has is older than its write.
  EXPECT_EQ(b.read(1), 1);
  a.write(1, 51);
  a.release();
  EXPECT_EQ(b.read(1), 1) << "nothing was acquired here";
  for (std::size_t i = 1; i <= cache_blocks; ++i) (void)a.read(i * per_block);
  EXPECT_EQ(a.read(1), 51);
}

// All of them: the rest of a piece that is written is not shown as new.
TEST_F(neighbours, show_what_was_there_before_a_write_with_its_time) {
  a.write(0, 40);
  EXPECT_EQ(a.read(1), 1);
  home(1) = 101;
  b.acquire_from(-1);
  EXPECT_EQ(b.read(1), 101);
  EXPECT_EQ(b.copied(), 0U);
}

TEST_F(neighbours, copy_nothing_of_a_block_that_has_gone) {
  for (std::size_t i = 0; i <= cache_blocks; ++i) (void)a.read(i * per_block);
  EXPECT_EQ(a.fetched(), (cache_blocks + 1) * piece);
  EXPECT_EQ(b.read(0), 0);
  EXPECT_EQ(b.fetched(), piece);
  EXPECT_EQ(b.read(per_block), static_cast<long>(per_block));
  EXPECT_EQ(b.copied(), piece);
}

TEST_F(neighbours, show_what_is_valid_alone) {
  EXPECT_EQ(a.read(0), 0);
  EXPECT_TRUE(a.all().is_valid());
  a.near().shows(0, 1, 1, false);
  EXPECT_FALSE(a.all().is_valid()) << "C6";
}

TEST_F(neighbours, copy_nothing_of_an_object_that_was_freed) {
  EXPECT_EQ(a.read(0), 0);
  a.forget(0);
  home(0) = 70;
  EXPECT_EQ(b.read(0), 70);
}

// One that computes with its fetch on its way is not waited for for ever.
TEST_F(neighbours, fetch_what_does_not_come_to_one) {
  a.memory.late = true;
  a.start_reading(5);
  EXPECT_FALSE(a.memory.on_their_way.empty());
  EXPECT_EQ(b.read(5), 5);
  EXPECT_EQ(b.copied(), 0U);
  EXPECT_EQ(b.fetched(), piece);
  a.all().finish();
  a.end_reading(5);
  EXPECT_EQ(a.read(5), 5);
}

// ... and one that goes on is.
TEST_F(neighbours, wait_for_what_comes_to_one) {
  a.memory.late = true;
  a.start_reading(5);
  b.start_reading(5);
  EXPECT_EQ(b.fetched(), 0U);
  a.all().finish();
  b.all().finish();
  EXPECT_EQ(b.copied(), piece);
  EXPECT_EQ(b.fetched(), 0U);
  a.end_reading(5);
  b.end_reading(5);
  EXPECT_EQ(b.read(5), 5);
}

// It counts as valid for those that will wait for it.
TEST_F(neighbours, do_not_show_what_they_expect) {
  a.memory.late = true;
  a.start_reading(1);
  b.start_reading(1);
  b.all().checkout(b.at(1), 2 * piece, access::read, false);
  EXPECT_FALSE(b.near().is_shown(0, 1));
  EXPECT_TRUE(b.near().is_shown(0, 2));
  a.all().finish();
  b.all().finish();
  EXPECT_TRUE(b.near().is_shown(0, 1));
  EXPECT_EQ(*reinterpret_cast<long*>(b.at(1)), 1);
  b.all().checkin(b.at(1), 2 * piece, access::read);
  a.end_reading(1);
  b.end_reading(1);
}

TEST_F(neighbours, keep_what_they_have_written_where_they_copy) {
  b.write(1, -1);
  for (std::size_t i = 0; i < per_block; ++i) EXPECT_EQ(a.read(i), static_cast<long>(i));
  for (std::size_t i = 0; i < per_block; ++i) EXPECT_EQ(b.read(i), i == 1 ? -1 : static_cast<long>(i));
  EXPECT_EQ(b.fetched(), 0U);
  b.release();
  EXPECT_EQ(home(1), -1);
}

class neighbours_that_read_on : public neighbours {
 protected:
  neighbours_that_read_on() : neighbours(4 * block) {}
};

TEST_F(neighbours_that_read_on, fetch_nothing_ahead_that_one_has) {
  constexpr std::size_t pieces = cache_blocks * per_block / 2;
  for (std::size_t i = 0; i < pieces; ++i) EXPECT_EQ(a.read(i), static_cast<long>(i));
  for (std::size_t i = 0; i < pieces; ++i) EXPECT_EQ(b.read(i), static_cast<long>(i));
  EXPECT_EQ(b.copied(), pieces * piece);
}

// Random programs of one task that goes from worker to worker, and reads and writes on its way, while both fetch and
// copy for others' sake. It always reads what it wrote last.
TEST_F(neighbours, serve_a_task_that_goes_from_one_to_the_other) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::rng random(seed);
    constexpr std::size_t pieces = 6 * per_block;  // of more blocks than a cache has
    std::array<long, pieces> newest{};
    for (std::size_t i = 0; i < pieces; ++i) newest[i] = home(i) = static_cast<long>(seed * 1000 + i);
    std::array<worker*, 2> both{&a, &b};
    std::size_t at = 0;
    both[at]->acquire_from(-1);
    for (int step = 0; step < 400; ++step) {
      const std::size_t i = random.uniform(pieces);
      switch (random.uniform(7)) {
        case 0:
          newest[i] = step;
          both[at]->write(i, step);
          break;
        case 1:  // the other one, for what lies around
          (void)both[1 - at]->read(i);
          break;
        case 2:
          if (random.uniform(4) != 0) break;
          both[at]->release();
          both[1 - at]->acquire_from(static_cast<int>(at));
          at = 1 - at;
          break;
        case 3:  // it goes to another node and back
          if (random.uniform(4) != 0) break;
          both[at]->release();
          newest[i] = home(i) = -step;
          at = random.uniform(2);
          both[at]->acquire_from(-1);
          break;
        default:
          ASSERT_EQ(both[at]->read(i), newest[i]) << "step " << step;
      }
    }
    a.release();
    b.release();
    for (std::size_t i = 0; i < pieces; ++i) ASSERT_EQ(home(i), newest[i]);
  }
}

// One thread gives the same place to one block after the other, each filled with its number; another one copies what
// it takes for a block. What it takes for whole is of that block alone.
TEST(copies, are_of_one_block_or_count_for_nothing) {
  constexpr std::size_t bytes = 4096;
  pgas::neighbours::shown_block shown{};
  std::vector<std::byte> place(bytes);
  const std::jthread owner([&](const std::stop_token& over) {
    // As neighbours::hide() and what follows it.
    for (std::uint64_t number = 1; !over.stop_requested(); ++number) {
      for (auto& time : shown.times) time.store(0, std::memory_order_relaxed);
      shown.version.store(shown.version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      shown.block.store(number % 8 + 1, std::memory_order_relaxed);
      std::memset(place.data(), static_cast<int>(number % 8), bytes);
      shown.times[0].store(1 << 1, std::memory_order_release);
      for (int i = 0; i < 200; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  });
  std::vector<std::byte> copy(bytes);
  for (int taken = 0, tries = 0; taken < 300 && tries < 5'000'000; ++tries) {
    const pgas::neighbours::source from{&shown, place.data(), shown.version.load(std::memory_order_acquire)};
    const std::uint64_t block_now = shown.block.load(std::memory_order_relaxed) - 1;
    std::uint64_t time = 0;
    if (pgas::neighbours::look(from, block_now, 0, 1, time) != pgas::neighbours::found::here) continue;
    if (!pgas::neighbours::copy(from, {0, bytes}, copy.data())) continue;
    ++taken;
    for (const std::byte each : copy) ASSERT_EQ(static_cast<std::uint64_t>(each), block_now);
  }
}

}  // namespace
