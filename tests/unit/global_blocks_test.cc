// SPDX-License-Identifier: Apache-2.0
// The parts under the cache: who was used least recently, which block is where, where homes are, and mappings.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <list>
#include <set>

#include "libcore/base/rng.hpp"
#include "libcore/pgas/block_table.hpp"
#include "libcore/pgas/held.hpp"
#include "libcore/pgas/homes.hpp"
#include "libcore/pgas/lru_list.hpp"
#include "libcore/pgas/view.hpp"
#include "tobi/detail/global.hpp"

namespace {

using namespace tobi::pgas;

std::uint32_t oldest(const lru_list& l) {
  return l.find([](std::uint32_t) { return true; });
}

TEST(lru_list, finds_the_least_recently_used_one) {
  lru_list list(10, 5);
  std::list<std::uint32_t> oracle{10, 11, 12, 13, 14};
  tobi::base::rng random(7);
  for (int i = 0; i < 1000; ++i) {
    const auto who = static_cast<std::uint32_t>(10 + random.uniform(5));
    list.touch(who);
    oracle.remove(who);
    oracle.push_back(who);
    ASSERT_EQ(oldest(list), oracle.front());
    // With some in use, the oldest of the others.
    const auto used = static_cast<std::uint32_t>(10 + random.uniform(5));
    std::uint32_t wanted = lru_list::none;
    for (const std::uint32_t o : oracle) {
      if (o <= used) {
        wanted = o;
        break;
      }
    }
    ASSERT_EQ(list.find([&](std::uint32_t w) { return w <= used; }), wanted);
  }
}

TEST(lru_list, of_nobody_finds_nobody) {
  EXPECT_EQ(oldest(lru_list(2, 0)), lru_list::none);
  lru_list one(2, 1);
  one.touch(2);
  EXPECT_EQ(oldest(one), 2u);
  EXPECT_EQ(one.find([](std::uint32_t) { return false; }), lru_list::none);
}

TEST(plain_memory, is_of_one_block_that_stays_mapped) {
  block_table table(4);
  table[1] = table[2] = tobi::detail::plain_memory::plain;
  table[3] = 7;  // a slot of the cache
  tobi::detail::plain_memory plain{};
  plain.base = 0x10000;
  plain.bytes = 4 * 4096;
  plain.blocks = table.all();
  plain.mask = 4095;
  plain.shift = 12;
  const auto has = [&](std::uintptr_t offset, std::size_t bytes) {
    return plain.has(reinterpret_cast<const void*>(0x10000 + offset), bytes);
  };
  EXPECT_TRUE(has(4096, 1) && has(4096, 4096) && has(8184, 8) && has(8192, 16) && has(12287, 1));
  EXPECT_FALSE(has(0, 8)) << "nowhere";
  EXPECT_FALSE(has(12288, 8)) << "in the cache";
  EXPECT_FALSE(has(8184, 16) || has(4095, 2) || has(4096, 8193)) << "not in one block";
  EXPECT_FALSE(has(4 * 4096, 8) || has(~std::uintptr_t{0}, 1) || has(~std::uintptr_t{0x10000}, 8)) << "outside";
  EXPECT_FALSE(has(4096, 0) || has(5000, 0)) << "nothing";
  EXPECT_FALSE(has(4096, ~std::size_t{0}) || has(5000, ~std::size_t{0}) || has(5000, ~std::size_t{99}))
      << "no word can count it";
  plain.bytes = 0;
  EXPECT_FALSE(has(4096, 1)) << "none is plain";
}

TEST(block_table, starts_empty_and_keeps_what_is_set) {
  block_table table(std::size_t{1} << 28);  // a terabyte of small blocks costs only what is used
  EXPECT_EQ(table[0], 0u);
  EXPECT_EQ(table[(1u << 28) - 1], 0u);
  table[12345678] = 9;
  EXPECT_EQ(table[12345678], 9u);
  EXPECT_EQ(table[12345677], 0u);
}

TEST(held_checkouts, match_by_all_three_arguments) {
  held_checkouts held;
  held.add({100, 8, access::read});
  held.add({100, 8, access::read});
  held.add({100, 16, access::write});
  EXPECT_FALSE(held.remove({100, 8, access::write}));
  EXPECT_FALSE(held.remove({101, 8, access::read}));
  EXPECT_TRUE(held.remove({100, 8, access::read}));
  EXPECT_TRUE(held.remove({100, 8, access::read}));
  EXPECT_FALSE(held.remove({100, 8, access::read}));
  EXPECT_EQ(held.size(), 1u);
  EXPECT_TRUE(held.remove({100, 16, access::write}));
  EXPECT_TRUE(held.empty());
}

constexpr std::uint64_t block = 4096;

// Every byte of an allocation has one home, no two have the same, and each is in what its rank has provided.
void expect_dealt(int size, std::uint64_t bytes, std::uint64_t chunk_asked) {
  SCOPED_TRACE(testing::Message() << size << " ranks, " << bytes << " bytes, chunks of " << chunk_asked);
  const std::uint64_t region = 64 * block;
  const auto start_at = [](int r) { return 1000 * block * static_cast<std::uint64_t>(r + 1); };
  int asked = 0;
  homes where(size, region, 256, homes::view_bytes(size, region, 1u << 30, block), block,
              [&](int r, std::uint32_t slot) {
                EXPECT_EQ(slot, 5u);
                ++asked;
                return start_at(r);
              });
  const std::uint64_t whole = (bytes + block - 1) / block * block;
  const std::uint64_t chunk = where.chunk_for(whole, chunk_asked);
  allocation a{where.place_for(whole), whole, chunk};
  a.home = allocation::by_rank;
  a.slot = 5;
  ASSERT_NE(a.begin, 0u);
  where.add(a);
  std::set<std::pair<int, std::uint64_t>> homes_seen;
  for (std::uint64_t at = 0; at < whole; at += block) {
    const home_run run = where.find(a.begin + at);
    ASSERT_GE(run.rank, 0);
    ASSERT_LT(run.rank, size);
    ASSERT_LE(run.begin, a.begin + at);
    ASSERT_GE(run.begin + run.bytes, a.begin + at + block);
    const std::uint64_t home = run.home + (a.begin + at - run.begin);
    const std::uint64_t start = start_at(run.rank);
    EXPECT_GE(home, start);
    EXPECT_LE(home + block, start + where.share_of(run.rank, whole, chunk));
    EXPECT_TRUE(homes_seen.insert({run.rank, home}).second) << "two blocks with one home";
    if (chunk_asked != 0) {
      EXPECT_EQ(run.rank, static_cast<int>(at / chunk % static_cast<std::uint64_t>(size)));
    }
  }
  EXPECT_LT(where.find(a.begin + whole).rank, 0);
  EXPECT_LE(asked, size) << "each rank is asked once";
}

TEST(homes, are_dealt_in_blocks_and_in_turn) {
  for (const int size : {1, 2, 3, 7}) {
    for (const std::uint64_t bytes : {1ul, 4096ul, 4097ul, 100'000ul, 1'000'000ul}) {
      for (const std::uint64_t chunk : {0ul, 1ul, 4096ul, 12288ul, 65536ul}) expect_dealt(size, bytes, chunk);
    }
  }
}

TEST(homes, reuse_what_was_freed) {
  homes where(2, 16 * block, 256, homes::view_bytes(2, 16 * block, 8 * block, block), block);
  const std::uint64_t first = where.place_for(4 * block);
  where.add({first, 4 * block, 2 * block});
  const std::uint64_t second = where.place_for(4 * block);
  EXPECT_EQ(second, first + 4 * block);
  where.add({second, 4 * block, 2 * block});
  EXPECT_EQ(where.place_for(block), 0u) << "it is full";
  where.remove(first);
  EXPECT_EQ(where.place_for(4 * block), first);
  EXPECT_EQ(where.place_for(5 * block), 0u);
}

TEST(homes, of_heaps_leave_out_what_is_no_object) {
  homes where(3, 16 * block, 300, homes::view_bytes(3, 16 * block, block, block), block);
  EXPECT_LT(where.find(where.of_object(1, 299)).rank, 0);
  const home_run run = where.find(where.of_object(1, 300));
  EXPECT_EQ(run.rank, 1);
  EXPECT_EQ(run.home + (where.of_object(1, 300) - run.begin), 300u);
}

TEST(view_DeathTest, maps_unmaps_and_keeps_its_addresses) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  view v(64 * page);
  ASSERT_NE(v.base(), nullptr);
  EXPECT_TRUE(v.holds(v.base() + 64 * page - 1));
  EXPECT_FALSE(v.holds(v.base() + 64 * page));
  EXPECT_FALSE(v.holds(v.base() - 1));
  const int fd = memfd_create("view-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(4 * page)), 0);
  v.map(v.base() + 8 * page, page, fd, 2 * page, true);
  v.base()[8 * page] = std::byte{42};
  v.map_again(v.base() + 20 * page, page, v.base() + 8 * page);
  EXPECT_EQ(v.base()[20 * page], std::byte{42});
  v.unmap(v.base() + 8 * page, page);
  v.base()[20 * page] = std::byte{43};
  v.map(v.base() + 30 * page, page, fd, 2 * page, false);
  EXPECT_EQ(v.base()[30 * page], std::byte{43});
  EXPECT_DEATH(static_cast<volatile std::byte*>(v.base())[8 * page] = std::byte{1}, "");
  close(fd);
}

TEST(view, counts_the_kernels_mappings) {
  char name[] = "/tmp/tobi-maps-XXXXXX";
  const int fd = mkstemp(name);
  ASSERT_GE(fd, 0);
  std::ofstream(name) << "a\nb\nc\n";
  EXPECT_EQ(kernel_maps_in_use(name), 3u);
  std::ofstream(name, std::ios::trunc) << "1234\n";
  EXPECT_EQ(kernel_map_limit(name), 1234u);
  close(fd);
  unlink(name);
  EXPECT_EQ(kernel_map_limit("/nowhere"), 0u);
  EXPECT_GT(kernel_maps_in_use(), 5u);
}

}  // namespace
