// SPDX-License-Identifier: Apache-2.0
// Small objects of global memory: how close they lie, who frees them, and what the owner sees of that.
#include "alloc/small_objects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "alloc/heap.hpp"
#include "alloc/segment.hpp"
#include "libcore/base/rng.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/net/small_frees.hpp"
#include "tests/unit/played_transport.hpp"
#include "transports/cpu_ops.hpp"

namespace tobi::alloc {

struct small_objects_from_within {
  static std::size_t slabs(const small_objects& of) { return of.used_.size(); }
};

}  // namespace tobi::alloc

namespace {

using namespace tobi;
using objects = alloc::small_objects;
using inside = alloc::small_objects_from_within;

constexpr std::size_t mib = 1u << 20;
constexpr int rank = 3;

class small : public testing::Test {
 protected:
  [[nodiscard]] std::uint64_t offset_of(const void* object) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(object) - segment_.control());
  }
  [[nodiscard]] bool is_held(const void* object, std::size_t bytes) const {
    return objects::is_held(rank, segment_.control(), offset_of(object), bytes);
  }
  [[nodiscard]] bool in_slab(const void* object) const {
    return objects::in_slab(rank, segment_.control(), offset_of(object));
  }
  // What the put of another worker does.
  void freed_elsewhere(void* object, std::size_t bytes) {
    reinterpret_cast<std::uint8_t*>(segment_.control())[objects::free_byte_offset(offset_of(object), bytes)] =
        objects::freed;
  }

  alloc::segment segment_{{4096, 16 * mib, mib}, [](bool mine) { return mine; }};
  alloc::heap heap_{segment_.heap(), segment_.heap_bytes()};
};

TEST_F(small, objects_of_a_size_lie_next_to_each_other) {
  for (std::size_t bytes = 8; bytes <= objects::largest; bytes += 8) {
    objects all(heap_, rank);
    const std::size_t count = 100;
    std::byte* before = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      auto* const one = static_cast<std::byte*>(all.allocate(bytes - i % 8));
      ASSERT_NE(one, nullptr);
      EXPECT_TRUE(before == nullptr || one == before + bytes) << bytes;
      const std::size_t alignment = std::min<std::size_t>(bytes & -bytes, 64);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one) % alignment, 0U) << bytes;
      before = one;
    }
    EXPECT_EQ(inside::slabs(all), 1U);
    EXPECT_EQ(all.held_bytes(), count * bytes);
  }
}

TEST_F(small, each_byte_names_its_object) {
  objects all(heap_, rank);
  const std::byte* const region = segment_.control();
  for (const std::size_t bytes : {8, 24, 200, 256}) {
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t at = offset_of(all.allocate(bytes));
      const auto& head = *reinterpret_cast<const objects::head*>(region + (at - at % objects::slab_bytes));
      for (const std::uint64_t by : {std::uint64_t{0}, std::uint64_t{bytes / 2}, std::uint64_t{bytes - 1}}) {
        const objects::place named = objects::place_of(head, at + by);
        ASSERT_EQ(named.begin, at);
        ASSERT_EQ(named.bytes, bytes);
        ASSERT_EQ(named.byte, objects::free_byte_offset(at, bytes));
        ASSERT_EQ(static_cast<std::uint8_t>(region[named.byte]), objects::held);
      }
    }
  }
  // What is no object's: a header, and what is left over behind the last one.
  const objects::head head{objects::mark_of(rank), 32};  // of 256 bytes
  EXPECT_EQ(objects::place_of(head, 7 * objects::slab_bytes).bytes, 0U);
  EXPECT_EQ(objects::place_of(head, 7 * objects::slab_bytes + 8191).bytes, 0U);
  EXPECT_EQ(objects::place_of(head, 7 * objects::slab_bytes + 8192).bytes, 256U);
  EXPECT_EQ(objects::place_of({objects::mark_of(rank), 25}, 8 * objects::slab_bytes - 1).bytes, 0U) << "57344 % 200";
  EXPECT_EQ(objects::place_of({objects::mark_of(rank), 0}, 9000).bytes, 0U) << "a slab that is none yet";
}

TEST_F(small, seven_eighths_of_a_slab_are_objects) {
  objects all(heap_, rank);
  std::size_t count = 0;
  for (; inside::slabs(all) < 5; ++count) ASSERT_NE(all.allocate(8), nullptr);
  EXPECT_EQ(count, 4 * objects::slab_bytes / 8 * 7 / 8 + 1);
}

// What another worker would post, executed here.
struct counting final : played_transport {
  explicit counting(std::byte* region) : to(region) { caps_.chain_max = 16; }
  status post(int, std::span<const transports::op> ops) noexcept override {
    puts += ops.size();
    transports::execute_whole(ops, [this](transports::region_id) { return to; });
    return status::ok;
  }
  std::byte* to;
  std::size_t puts = 0;
};

TEST_F(small, objects_next_to_each_other_are_freed_elsewhere_by_one_put) {
  constexpr int owner = 1;
  objects all(heap_, rank);
  counting over(segment_.control());
  net::fabric net(over, 0, 2, segment_.control(), segment_.heap_memory().bytes, [](int) { return net::peer_keys{}; });
  net::small_frees frees(net, [this](std::size_t bytes) { return heap_.allocate(bytes); });
  const auto free_elsewhere = [&](const std::byte* object, std::size_t bytes) {
    return frees.add({owner, static_cast<std::uint64_t>(object - segment_.control())}, bytes);
  };
  for (const std::size_t bytes : {8, 24, 200}) {
    std::vector<std::byte*> held;
    for (int i = 0; i < 1000; ++i) held.push_back(static_cast<std::byte*>(all.allocate(bytes)));
    over.puts = 0;
    for (std::size_t i = held.size(); i-- != 0;) {
      if (i % 10 == 3) continue;
      EXPECT_FALSE(free_elsewhere(held[i], bytes));
    }
    EXPECT_EQ(over.puts, 0U);
    EXPECT_EQ(all.collect(), 0U);
    EXPECT_TRUE(frees.waiting());
    frees.send();
    EXPECT_FALSE(frees.waiting());
    EXPECT_LE(over.puts, 101 + bytes * held.size() / (objects::slab_bytes / 2));  // and where a slab ends
    EXPECT_EQ(all.collect(), 900U);
    for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(is_held(held[i], bytes), i % 10 == 3);
    for (std::size_t i = 3; i < held.size(); i += 10) EXPECT_TRUE(all.free_local(held[i], bytes));
  }
  // Before long there are enough of them to be sent.
  int count = 0;
  while (!free_elsewhere(static_cast<std::byte*>(all.allocate(8)), 8)) ASSERT_LT(++count, 100'000);
  frees.send();
  EXPECT_EQ(all.held_bytes(), static_cast<std::size_t>(count + 1) * 8);
  all.collect();
  EXPECT_EQ(all.held_bytes(), 0U);
}

TEST_F(small, what_is_no_object_is_seen) {
  objects all(heap_, rank);
  auto* const one = static_cast<std::byte*>(all.allocate(40));
  auto* const two = static_cast<std::byte*>(all.allocate(40));
  EXPECT_TRUE(is_held(one, 40));
  EXPECT_TRUE(is_held(two, 33));
  EXPECT_FALSE(is_held(two, 48)) << "another size";
  EXPECT_FALSE(is_held(two + 8, 40)) << "in the middle";
  EXPECT_FALSE(is_held(two + 1, 40));
  EXPECT_FALSE(is_held(two + 40, 40)) << "not yet an object";
  EXPECT_FALSE(all.free_local(one, 41));
  EXPECT_TRUE(all.free_local(one, 40));
  EXPECT_FALSE(all.free_local(one, 40)) << "freed before";
  EXPECT_TRUE(in_slab(two));
  void* const large = heap_.allocate(2 * objects::slab_bytes, objects::slab_bytes);
  std::memset(large, 0, 2 * objects::slab_bytes);
  EXPECT_FALSE(in_slab(large));
  // A cache holds copies of the slabs of others.
  std::memcpy(large, one - offset_of(one) % objects::slab_bytes, objects::slab_bytes);
  EXPECT_FALSE(objects::in_slab(rank + 1, segment_.control(), offset_of(large)));
  EXPECT_FALSE(in_slab(segment_.heap()));
}

// Objects of all sizes that come and go, freed here and elsewhere: each keeps its bytes, and is nobody else's.
TEST_F(small, a_mixture_keeps_what_is_alive) {
  struct one {
    std::byte* at;
    std::size_t bytes;
    std::byte mark;
  };
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    objects all(heap_, rank, 64 << 10);
    base::rng random(seed);
    std::vector<one> alive;
    std::size_t marked = 0;  // freed elsewhere, and not collected
    for (int step = 0; step < 100'000; ++step) {
      const bool grows = step / 20'000 % 2 == 0;
      if (alive.empty() || random.uniform(3) < (grows ? 2U : 1U)) {
        const std::size_t bytes = 1 + random.uniform(objects::largest);
        const one made{static_cast<std::byte*>(all.allocate(bytes)), bytes, static_cast<std::byte>(random())};
        ASSERT_NE(made.at, nullptr);
        std::memset(made.at, static_cast<int>(made.mark), bytes);
        alive.push_back(made);
        continue;
      }
      std::swap(alive[random.uniform(alive.size())], alive.back());
      const one gone = alive.back();
      alive.pop_back();
      ASSERT_TRUE(is_held(gone.at, gone.bytes));
      ASSERT_TRUE(std::all_of(gone.at, gone.at + gone.bytes, [&](std::byte b) { return b == gone.mark; }));
      if (random.uniform(2) == 0) {
        ASSERT_TRUE(all.free_local(gone.at, gone.bytes));
      } else {
        freed_elsewhere(gone.at, gone.bytes);
        ++marked;
      }
    }
    EXPECT_LE(all.collect(), marked);
    std::size_t bytes = 0;
    for (const one& o : alive) bytes += (o.bytes + 7) / 8 * 8;
    EXPECT_EQ(all.held_bytes(), bytes);
    for (const one& o : alive) EXPECT_TRUE(all.free_local(o.at, o.bytes));
    EXPECT_EQ(all.held_bytes(), 0U);
    EXPECT_LE(inside::slabs(all), objects::largest / 8) << "one of each size stays";
  }
}

TEST_F(small, a_full_heap_collects_first) {
  objects all(heap_, rank, 1024 * mib);
  std::vector<void*> held;
  while (void* const one = all.allocate(128)) held.push_back(one);
  EXPECT_GT(held.size() * 128, 8 * mib);
  freed_elsewhere(held[held.size() / 2], 128);
  EXPECT_EQ(all.allocate(128), held[held.size() / 2]);
  EXPECT_EQ(all.allocate(128), nullptr);
  for (void* const one : held) EXPECT_TRUE(all.free_local(one, 128));
  EXPECT_NE(all.allocate(8), nullptr) << "what was freed is there for objects of another size";
}

}  // namespace
