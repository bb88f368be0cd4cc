// SPDX-License-Identifier: Apache-2.0
// The cache by itself: two heap regions, this worker's and one that it can reach by gets and puts alone. One thread,
// and no job around it. Each invariant of its header is broken on purpose, and is_valid() sees it.
#include "libcore/pgas/cache.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/two_regions.hpp"

namespace tobi::pgas {

// Where a test reaches into a cache.
struct cache_from_within {
  explicit cache_from_within(cache& of) : table(of.table_), dirty(of.dirty_), fetching(of.fetching_), all(of.slots_) {}
  [[nodiscard]] auto& slot_of(std::uint64_t block) { return all[table[block]]; }
  void mark_fetching(std::uint64_t block) { slot_of(block).state |= cache::fetching; }
  void unmark_fetching(std::uint64_t block) { slot_of(block).state &= static_cast<std::uint8_t>(~cache::fetching); }

  decltype(cache::table_)& table;
  decltype(cache::dirty_)& dirty;
  decltype(cache::fetching_)& fetching;
  decltype(cache::slots_)& all;
};

}  // namespace tobi::pgas

namespace {

using namespace tobi;
using pgas::access;

constexpr std::size_t block = 4096;
constexpr std::size_t region_bytes = 512 * block;
constexpr std::size_t cache_blocks = 4;
constexpr std::size_t piece = 512;  // that is fetched
constexpr int self = 0;
constexpr int other = 1;

class cache_alone : public testing::Test {
 protected:
  cache_alone() {
    parts_.addresses = &view_;
    parts_.where = &homes_;
    parts_.net = &batch_;
    parts_.node = &node_;
    parts_.rank = self;
    parts_.own_region = memory_.own;
    parts_.own_fd = memory_.fd;
    parts_.region_here = [](int) { return nullptr; };
    parts_.take_pool = [this](std::size_t bytes) {
      EXPECT_LE(bytes, region_bytes / 2);
      return memory_.own + region_bytes / 2;
    };
    parts_.block_bytes = block;
    parts_.sub_block_bytes = piece;
    parts_.cache_bytes = cache_blocks * block;
  }

  [[nodiscard]] long& number(std::uint64_t of_block) {
    return *reinterpret_cast<long*>(view_.base() + of_block * block);
  }
  [[nodiscard]] long& at_home(std::uint64_t of_block) {
    return *reinterpret_cast<long*>(memory_.far.data() + (of_block - first_far) * block);
  }
  void use(pgas::cache& c, std::uint64_t of_block, access how) {
    c.checkout(reinterpret_cast<std::uintptr_t>(&number(of_block)), sizeof(long), how, true);
  }
  void end(pgas::cache& c, std::uint64_t of_block, access how) {
    c.checkin(reinterpret_cast<std::uintptr_t>(&number(of_block)), sizeof(long), how);
  }

  static pgas::neighbour_parts alone() {
    pgas::neighbour_parts parts;
    parts.rank = self;
    parts.node = {self};
    parts.block_bytes = block;
    return parts;
  }

  static constexpr std::uint64_t view_bytes = 2048 * block;
  two_regions memory_{other, region_bytes};
  net::fabric net_{memory_, self, 2, memory_.own, region_bytes, [](int) { return net::peer_keys{}; }};
  net::batch batch_{net_};
  pgas::view view_{view_bytes};
  pgas::homes homes_{2, region_bytes, 0, view_bytes, block};
  pgas::neighbours node_{alone()};
  pgas::cache_parts parts_;
  const std::uint64_t first_far = homes_.of_object(other, 0) / block;
};

TEST_F(cache_alone, what_was_written_is_at_home_after_a_write_back_and_stays_readable) {
  pgas::cache c(parts_);
  c.limit_maps(1000);
  at_home(first_far) = 7;
  use(c, first_far, access::read_write);
  EXPECT_EQ(number(first_far), 7);
  number(first_far) = 8;
  end(c, first_far, access::read_write);
  EXPECT_EQ(at_home(first_far), 7) << "lazily";
  c.write_back();
  EXPECT_EQ(at_home(first_far), 8);
  at_home(first_far) = 9;
  use(c, first_far, access::read);
  EXPECT_EQ(number(first_far), 8) << "valid until an acquire";
  end(c, first_far, access::read);
  c.invalidate(-1);
  use(c, first_far, access::read);
  EXPECT_EQ(number(first_far), 9);
  end(c, first_far, access::read);
  EXPECT_TRUE(c.is_valid());
}

TEST_F(cache_alone, a_fetch_is_waited_for_and_a_hit_is_not) {
  std::uint64_t waited_ns = 0;
  parts_.waited_ns = &waited_ns;
  pgas::cache c(parts_);
  c.limit_maps(1000);
  use(c, first_far, access::write);  // nothing to fetch
  end(c, first_far, access::write);
  EXPECT_EQ(waited_ns, 0);
  use(c, first_far + 1, access::read);
  const std::uint64_t once = waited_ns;
  EXPECT_GT(once, 0);
  end(c, first_far + 1, access::read);
  use(c, first_far + 1, access::read);
  EXPECT_EQ(waited_ns, once);
  end(c, first_far + 1, access::read);
}

TEST_F(cache_alone, a_block_with_dirty_bytes_that_must_go_is_sent_home) {
  pgas::cache c(parts_);
  c.limit_maps(1000);
  for (std::uint64_t b = 0; b < 3 * cache_blocks; ++b) {
    use(c, first_far + b, access::write);
    number(first_far + b) = static_cast<long>(b + 1);
    end(c, first_far + b, access::write);
    EXPECT_TRUE(c.is_valid());
  }
  c.write_back();
  for (std::uint64_t b = 0; b < 3 * cache_blocks; ++b) EXPECT_EQ(at_home(first_far + b), static_cast<long>(b + 1));
  EXPECT_EQ(c.counts().evictions, 2 * cache_blocks);
}

// Pieces of the other worker's memory, of a long each, in a cache that reads up to four blocks ahead.
class reading_on : public cache_alone {
 protected:
  static constexpr std::size_t most_ahead = 4 * block;

  reading_on() {
    memory_.late = true;
    parts_.cache_bytes = 128 * block;
    parts_.ahead_bytes = most_ahead;
    for (std::size_t i = 0; i < region_bytes / piece; ++i) home(i) = static_cast<long>(i);
  }

  [[nodiscard]] long& home(std::size_t i) { return *reinterpret_cast<long*>(memory_.far.data() + i * piece); }
  [[nodiscard]] long& here(std::size_t i) {
    return *reinterpret_cast<long*>(view_.base() + first_far * block + i * piece);
  }
  long read(pgas::cache& c, std::size_t i) {
    const auto at = reinterpret_cast<std::uintptr_t>(&here(i));
    c.checkout(at, piece, access::read, true);
    const long value = here(i);
    c.checkin(at, piece, access::read);
    EXPECT_TRUE(c.is_valid());
    return value;
  }
};

TEST_F(reading_on, an_array_is_waited_for_once_per_window) {
  constexpr std::size_t pieces = 200 * block / piece;  // more than the cache has
  std::uint64_t slow_upwards = 0;
  for (const std::size_t ahead : {std::size_t{0}, most_ahead}) {
    for (const bool down : {false, true}) {
      parts_.ahead_bytes = ahead;
      pgas::cache c(parts_);
      c.limit_maps(1000);
      memory_.flushes = 0;
      for (std::size_t i = 0; i < pieces; ++i) {
        const std::size_t next = down ? pieces - 1 - i : i;
        ASSERT_EQ(read(c, next), static_cast<long>(next));
      }
      const std::size_t most = ahead == 0 ? pieces : pieces * piece / most_ahead + 24;
      EXPECT_LE(static_cast<std::size_t>(memory_.flushes), most);
      EXPECT_LE(c.counts().slow, most);
      EXPECT_LE(c.counts().fetched_bytes, (pieces * piece) + ahead);
      EXPECT_GE(c.counts().fetched_bytes, pieces * piece);
      if (!down) slow_upwards = c.counts().slow;
      EXPECT_EQ(c.counts().slow, slow_upwards);
    }
  }
}

TEST_F(reading_on, nothing_is_fetched_ahead_of_jumps) {
  pgas::cache c(parts_);
  c.limit_maps(1000);
  for (std::size_t i = 0; i < 60; i += 2) EXPECT_EQ(read(c, i), static_cast<long>(i));
  for (std::size_t i = 120; i > 60; i -= 2) EXPECT_EQ(read(c, i), static_cast<long>(i));
  EXPECT_EQ(c.counts().fetched_bytes, 60 * piece);
}

// Pieces 2 and on are on their way when piece 1 has been read.
TEST_F(reading_on, what_comes_ahead_does_not_land_on_what_is_written) {
  pgas::cache c(parts_);
  c.limit_maps(1000);
  EXPECT_EQ(read(c, 0), 0);
  EXPECT_EQ(read(c, 1), 1);
  ASSERT_FALSE(memory_.on_their_way.empty());
  const auto at = reinterpret_cast<std::uintptr_t>(&here(2));
  c.checkout(at, sizeof(long), access::write, true);
  here(2) = -2;
  c.checkin(at, sizeof(long), access::write);
  EXPECT_EQ(memory_.flush(other), status::ok);
  EXPECT_EQ(read(c, 2), -2);
  c.write_back();
  EXPECT_EQ(home(2), -2);
  EXPECT_EQ(read(c, 3), 3);
}

TEST_F(reading_on, an_acquire_makes_what_comes_ahead_old) {
  pgas::cache c(parts_);
  c.limit_maps(1000);
  EXPECT_EQ(read(c, 0), 0);
  EXPECT_EQ(read(c, 1), 1);
  ASSERT_FALSE(memory_.on_their_way.empty());
  for (const std::size_t i : {2, 3}) home(i) += 1000;  // by a task that has been acquired from here
  c.invalidate(-1);
  EXPECT_EQ(read(c, 2), 1002);
  EXPECT_EQ(read(c, 3), 1003);
}

TEST_F(reading_on, a_prefetch_waits_for_nothing_and_is_there_later) {
  pgas::cache c(parts_);
  c.limit_maps(1000);
  const auto at = reinterpret_cast<std::uintptr_t>(&here(24));
  c.prefetch(at, 6 * piece);
  EXPECT_EQ(memory_.flushes, 0);
  EXPECT_EQ(memory_.on_their_way.size(), 1U);
  EXPECT_TRUE(c.held().empty());
  EXPECT_TRUE(c.is_valid());
  for (std::size_t i = 24; i < 30; ++i) EXPECT_EQ(read(c, i), static_cast<long>(i));
  EXPECT_EQ(memory_.flushes, 1);
  EXPECT_EQ(c.counts().fetched_bytes, 6 * piece);
}

// More than the cache has, and none of it is used: what is on its way is not driven out by what is asked for.
TEST_F(reading_on, prefetches_do_not_fill_the_cache_for_good) {
  pgas::cache c(parts_);
  c.limit_maps(1000);
  for (std::size_t i = 0; i < 256 * block / piece; i += 8)
    c.prefetch(reinterpret_cast<std::uintptr_t>(&here(i)), piece);
  EXPECT_TRUE(c.is_valid());
  for (std::size_t i = 0; i < 256 * block / piece; ++i) EXPECT_EQ(read(c, i), static_cast<long>(i));
}

TEST_F(reading_on, freed_memory_takes_what_was_on_its_way_with_it) {
  pgas::cache c(parts_);
  c.limit_maps(1000);
  c.prefetch(reinterpret_cast<std::uintptr_t>(&here(4)), 2 * piece);
  c.forget((first_far * block) + (4 * piece), piece, false);
  EXPECT_TRUE(memory_.on_their_way.empty());
  home(4) = 77;  // of an object that is made there
  EXPECT_EQ(read(c, 4), 77);
  EXPECT_EQ(read(c, 5), 5);
}

TEST_F(cache_alone, an_invariant_that_is_broken_is_seen) {
  pgas::cache c(parts_);
  c.limit_maps(1000);
  use(c, first_far, access::read_write);
  number(first_far) = 1;
  end(c, first_far, access::read_write);
  use(c, first_far + 1, access::read);  // held
  EXPECT_TRUE(c.is_valid());
  pgas::cache_from_within inside(c);

  std::swap(inside.table[first_far], inside.table[first_far + 1]);
  EXPECT_FALSE(c.is_valid()) << "C1";
  std::swap(inside.table[first_far], inside.table[first_far + 1]);

  auto& held = inside.slot_of(first_far + 1);
  ++held.mapped_at;
  EXPECT_FALSE(c.is_valid()) << "C2";
  --held.mapped_at;

  auto& dirty = inside.slot_of(first_far);
  const auto valid = dirty.valid;
  dirty.valid.clear();
  EXPECT_FALSE(c.is_valid()) << "C3: valid";
  dirty.valid = valid;
  const auto list = inside.dirty;
  inside.dirty.clear();
  EXPECT_FALSE(c.is_valid()) << "C3: listed";
  inside.dirty = list;

  ++held.generation;
  EXPECT_FALSE(c.is_valid()) << "C4";
  --held.generation;

  inside.mark_fetching(first_far + 1);
  EXPECT_FALSE(c.is_valid()) << "C5";
  inside.unmark_fetching(first_far + 1);

  EXPECT_TRUE(c.is_valid());
  end(c, first_far + 1, access::read);
}

}  // namespace
