// SPDX-License-Identifier: Apache-2.0
// Heaps that are registered part by part: what the allocator gives, what the owner registers, and how another worker
// reaches what came later. Two workers in one process, on a fabric that maps no memory.
#include "libcore/net/growing_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "alloc/heap.hpp"
#include "alloc/segment.hpp"
#include "libcore/base/rng.hpp"
#include "libcore/net/fabric.hpp"
#include "tests/unit/fabric_in_process.hpp"
#include "tests/unit/played_transport.hpp"

namespace {

using namespace tobi;
using net::heap_parts;
using net::location;
using transports::op;

constexpr std::size_t mib = 1u << 20;
constexpr std::size_t first_bytes = 4 * mib;

// Memory of a worker: the words of its parts, and behind them its heap.
struct region {
  alloc::segment memory{{sizeof(heap_parts), 60 * mib, 65536, first_bytes}, [](bool mine) { return mine; }};
  heap_parts& words = *new (memory.control()) heap_parts{};

  [[nodiscard]] std::uint64_t offset_of(const void* object) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(object) - memory.control());
  }
};

// A device that registers parts up to LARGEST, and counts how often it is asked.
struct limited final : played_transport {
  std::size_t largest = ~std::size_t{0};
  int asked = 0;
  status register_memory(const transports::memory& local, transports::region_key&) override {
    ++asked;
    return local.bytes_at_first() <= largest ? status::ok : status::invalid;
  }
  status post(int, std::span<const op>) noexcept override { return status::ok; }
  [[nodiscard]] std::string why_not_registered() const override { return "the limit of locked memory is 5M"; }
};

TEST(growing_heap, doubles_until_there_are_no_more_addresses) {
  region r;
  limited device;
  net::growing_heap heap(device, r.memory.heap_memory(), r.words, mib);
  EXPECT_EQ(heap.grow(1), first_bytes);
  EXPECT_EQ(heap.grow(9 * mib + 1), 10 * mib);
  EXPECT_EQ(heap.grow(100 * mib), 0u);
  const std::size_t rest = r.memory.heap_memory().bytes - 18 * mib;
  EXPECT_EQ(heap.grow(1), 18 * mib);
  EXPECT_EQ(heap.grow(1), rest - 18 * mib);
  EXPECT_EQ(heap.grow(1), 0u);
  ASSERT_EQ(r.words.count, 4u);
  std::uint64_t end = first_bytes;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(r.words.rows[i].begin, end);
    end = r.words.rows[i].end;
  }
  EXPECT_EQ(end, r.memory.heap_memory().bytes);
}

TEST(growing_heap, locks_no_more_than_the_largest_part_in_vain) {
  constexpr std::size_t largest = net::growing_heap::largest_part;
  const alloc::segment memory({sizeof(heap_parts), 20 * largest, 65536, largest / 2}, [](bool mine) { return mine; });
  heap_parts& words = *new (memory.control()) heap_parts{};
  limited device;
  net::growing_heap heap(device, memory.heap_memory(), words, mib);
  EXPECT_EQ(heap.grow(1), largest / 2);
  EXPECT_EQ(heap.grow(1), largest);
  EXPECT_EQ(heap.grow(1), largest);
  EXPECT_EQ(heap.grow(3 * largest), 3 * largest) << "an object that is larger";
  std::size_t usable = 6 * largest;
  while (words.count + 1 < heap_parts::most) usable += heap.grow(1);
  EXPECT_EQ(usable, (6 + 11) * largest);
  EXPECT_EQ(heap.grow(1), memory.heap_memory().bytes - usable) << "the last part that there is room for has all";
  EXPECT_EQ(heap.grow(1), 0u);
}

TEST(growing_heap, takes_what_a_fabric_gives_and_says_once_what_it_refuses) {
  region r;
  limited device;
  device.largest = 2 * mib;
  net::growing_heap heap(device, r.memory.heap_memory(), r.words, mib);
  EXPECT_EQ(heap.grow(1), 2 * mib) << "4M, which is double, is refused";
  testing::internal::CaptureStderr();
  EXPECT_EQ(heap.grow(3 * mib), 0u);
  EXPECT_EQ(heap.grow(4 * mib), 0u);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      said.find("the heap of this worker stays at 6M: played does not register 3M more (the limit of locked memory "
                "is 5M)."),
      std::string::npos)
      << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  const int asked = device.asked;
  EXPECT_EQ(heap.grow(3 * mib), 0u);
  EXPECT_EQ(device.asked, asked) << "an allocation that must fail asks the device no more";
  EXPECT_EQ(heap.grow(2 * mib), 2 * mib) << "less than what was refused may be had";
}

TEST(growing_heap, no_object_lies_in_two_parts) {
  region r;
  limited device;
  net::growing_heap growing(device, r.memory.heap_memory(), r.words, mib);
  alloc::heap heap(r.memory.heap(), first_bytes - r.memory.control_bytes(),
                   [&](std::size_t bytes) { return growing.grow(bytes); });
  const auto part_of = [&](std::uint64_t offset) {
    std::size_t i = 0;
    while (i < r.words.count && offset >= r.words.rows[i].begin) ++i;
    return i;
  };
  base::rng random(7);
  struct object {
    std::uint64_t* at;
    std::size_t bytes;
  };
  std::vector<object> alive;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    // Most are small, some as large as a part; what is freed side by side is joined, and given again as one.
    const std::size_t bytes = 16 + random.uniform(random.uniform(50) == 0 ? 5 * mib : 40000);
    auto* const at = static_cast<std::uint64_t*>(heap.allocate(bytes));
    if (at == nullptr || random.uniform(3) == 0) {
      const std::size_t half = alive.size() / 2;
      for (std::size_t k = half; k < alive.size(); ++k) heap.deallocate(alive[k].at);
      alive.resize(half);
      if (at == nullptr) continue;
    }
    const std::uint64_t begin = r.offset_of(at);
    ASSERT_EQ(part_of(begin), part_of(begin + bytes - 1)) << begin << " to " << begin + bytes;
    ASSERT_LE(begin + bytes, r.words.rows[r.words.count - 1].end);
    at[0] = i;
    alive.push_back({at, bytes});
  }
  EXPECT_GE(r.words.count, 3u);
}

class reached_from_elsewhere : public testing::Test {
 protected:
  reached_from_elsewhere() {
    for (int r = 0; r < 2; ++r) {
      transports::memory in_use = of_[r].memory.heap_memory();
      in_use.bytes = first_bytes;  // this fabric pins nothing, and would register all
      if (both_.of(r).register_memory(in_use, keys_[r].heap) != status::ok ||
          both_.of(r).register_memory(of_[r].memory.stack_memory(), keys_[r].stack) != status::ok) {
        std::abort();
      }
    }
    for (int r = 0; r < 2; ++r) {
      const net::heap_layout grows{of_[r].memory.heap_memory().bytes, first_bytes, 0};
      net_[r] = std::make_unique<net::fabric>(both_.of(r), r, 2, of_[r].memory.control(), grows,
                                              [this](int of) { return keys_[of]; });
    }
  }
  [[nodiscard]] std::uint64_t* word(int rank, std::uint64_t offset) {
    return reinterpret_cast<std::uint64_t*>(of_[rank].memory.control() + offset);
  }

  region of_[2];
  fabric_in_process both_{"sim", "", 2};
  net::peer_keys keys_[2];
  net::growing_heap grown_{both_.of(1), of_[1].memory.heap_memory(), of_[1].words, mib};
  std::unique_ptr<net::fabric> net_[2];
};

TEST_F(reached_from_elsewhere, a_part_is_found_when_something_in_it_is_named) {
  net::fabric& net = *net_[0];
  ASSERT_EQ(grown_.grow(1), 4 * mib);
  ASSERT_EQ(grown_.grow(1), 8 * mib);
  const std::uint64_t places[] = {first_bytes - 8, first_bytes, 8 * mib - 8, 8 * mib, 16 * mib - 8};
  for (const std::uint64_t at : places) *word(1, at) = at;
  EXPECT_TRUE(net.heaps().knows(1, first_bytes));
  EXPECT_FALSE(net.heaps().knows(1, first_bytes + 1)) << "nobody has asked";
  for (const std::uint64_t at : places) {
    std::uint64_t seen = 0;
    net.get({1, at}, &seen, sizeof seen);
    EXPECT_EQ(seen, at);
    EXPECT_EQ(net.fetch_add({1, at}, 5), at);
    EXPECT_EQ(net.compare_swap({1, at}, at + 5, 1), at + 5);
    EXPECT_EQ(*word(1, at), 1u);
  }
  EXPECT_TRUE(net.heaps().knows(1, 16 * mib)) << "one question brings all parts";
  EXPECT_FALSE(net.heaps().knows(1, 16 * mib + 1));
  EXPECT_EQ(net.heaps().readable({1, first_bytes - 100}), 100u);
  EXPECT_EQ(net.heaps().readable({1, first_bytes}), 4 * mib);
  EXPECT_EQ(net.heaps().readable({1, 16 * mib - 3}), 3u);
}

TEST_F(reached_from_elsewhere, a_chain_reaches_several_parts_in_its_order) {
  net::fabric& net = *net_[0];
  ASSERT_EQ(grown_.grow(1), 4 * mib);
  const std::uint64_t value[] = {11, 22, 33};
  std::uint64_t old = 0;
  const auto heap = net.heap(1);
  const op chain[] = {op::put(heap, first_bytes - 8, &value[0], 8), op::put(heap, first_bytes + 64, &value[1], 8),
                      op::add(heap, first_bytes + 64, 1, &old),
                      op::put(net.stack(1), first_bytes % 65536, &value[2], 8)};
  net.post(1, chain);
  net.complete(1);
  EXPECT_EQ(*word(1, first_bytes - 8), 11u);
  EXPECT_EQ(*word(1, first_bytes + 64), 23u);
  EXPECT_EQ(old, 22u);
  EXPECT_EQ(std::memcmp(of_[1].memory.stack_low() + first_bytes % 65536, &value[2], 8), 0) << "a stack has no parts";
}

TEST_F(reached_from_elsewhere, parts_that_come_later_are_asked_for_once_more) {
  net::fabric& net = *net_[0];
  std::uint64_t seen = 0;
  ASSERT_EQ(grown_.grow(1), 4 * mib);
  net.get({1, first_bytes}, &seen, sizeof seen);
  const std::uint64_t waits = net.waits();
  net.get({1, first_bytes + 8}, &seen, sizeof seen);
  EXPECT_EQ(net.waits(), waits + 1) << "a part that is known costs no question";
  ASSERT_EQ(grown_.grow(1), 8 * mib);
  *word(1, 8 * mib) = 99;
  net.get({1, 8 * mib}, &seen, sizeof seen);
  EXPECT_EQ(seen, 99u);
  EXPECT_EQ(net.waits(), waits + 4) << "the count, one row, and the word";
}

TEST_F(reached_from_elsewhere, a_worker_reaches_its_own_parts_by_the_fabric_too) {
  ASSERT_EQ(grown_.grow(1), 4 * mib);
  net::fabric& own = *net_[1];
  *word(1, first_bytes + 16) = 7;
  std::uint64_t seen = 0;
  const op one = op::get(own.heap(1), first_bytes + 16, &seen, 8);
  own.post(1, {&one, 1});
  own.complete(1);
  EXPECT_EQ(seen, 7u);
}

TEST_F(reached_from_elsewhere, what_nobody_has_is_said_in_a_sentence) {
  net::fabric& net = *net_[0];
  EXPECT_EQ(net.heaps().readable({1, first_bytes}), 0u);
  EXPECT_FALSE(net.heaps().can_be({1, first_bytes}, 8));
  EXPECT_TRUE(net.heaps().can_be({1, first_bytes - 8}, 8));
  EXPECT_FALSE(net.heaps().can_be({1, first_bytes - 8}, 16)) << "no object lies in two parts";
  ASSERT_EQ(grown_.grow(1), 4 * mib);
  EXPECT_TRUE(net.heaps().can_be({1, first_bytes}, 8));
  std::uint64_t seen = 0;
  EXPECT_EXIT(net.get({1, 9 * mib}, &seen, sizeof seen), testing::ExitedWithCode(1),
              "rank 1.* has no global memory at 8 bytes from offset 9437184 of its heap on");
  EXPECT_EXIT(net.get({1, 8 * mib - 4}, &seen, sizeof seen), testing::ExitedWithCode(1), "has no global memory");
}

}  // namespace
