// SPDX-License-Identifier: Apache-2.0
// What a task_memory gives out: pieces that are apart from each other, all of it, and again what was given back.
#include "tobi/task_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using tobi::task_allocator;
using tobi::task_memory;
using tobi::task_memory_full;

struct piece {
  std::byte* at;
  std::size_t bytes;
  std::byte mark;
};

bool is_whole(const piece& p) {
  return std::all_of(p.at, p.at + p.bytes, [&](std::byte b) { return b == p.mark; });
}

TEST(task_memory, pieces_are_apart_and_all_of_it_comes_back) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    alignas(16) std::array<std::byte, 2048> room;
    task_memory memory(room.data(), room.size());
    ASSERT_EQ(memory.capacity(), room.size());
    std::vector<piece> pieces;
    for (unsigned step = 0; step < 400; ++step) {
      if (pieces.empty() || random() % 5 < 3) {
        const std::size_t bytes = random() % 200;
        const std::size_t rounded = std::max<std::size_t>(16, (bytes + 15) / 16 * 16);
        const std::size_t free = memory.free();
        try {
          const piece p{static_cast<std::byte*>(memory.allocate(bytes)), bytes, static_cast<std::byte>(step)};
          ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p.at) % 16, 0);
          ASSERT_GE(p.at, room.data());
          ASSERT_LE(p.at + bytes, room.data() + room.size());
          ASSERT_EQ(memory.free(), free - rounded);
          std::memset(p.at, static_cast<int>(p.mark), bytes);
          pieces.push_back(p);
        } catch (const task_memory_full&) {
          ASSERT_EQ(memory.free(), free);
        }
      } else {
        std::swap(pieces[random() % pieces.size()], pieces.back());
        ASSERT_TRUE(is_whole(pieces.back()));
        memory.deallocate(pieces.back().at, pieces.back().bytes);
        pieces.pop_back();
      }
    }
    for (const piece& p : pieces) {
      ASSERT_TRUE(is_whole(p));
      memory.deallocate(p.at, p.bytes);
    }
    // It is one piece again.
    ASSERT_EQ(memory.free(), room.size());
    ASSERT_EQ(memory.allocate(room.size()), room.data());
  }
}

TEST(task_memory, a_vector_grows_in_twice_what_it_holds) {
  alignas(16) std::array<std::byte, 2 * 1024 * sizeof(int)> room;
  task_memory memory(room.data(), room.size());
  for (int again = 0; again < 3; ++again) {
    tobi::local_vector<int> v(memory);
    for (int i = 0; i < 1024; ++i) v.push_back(i);
    EXPECT_EQ(v[1023], 1023);
  }
  EXPECT_EQ(memory.free(), memory.capacity());
}

TEST(task_memory, what_is_too_much_is_told) {
  alignas(16) std::array<std::byte, 256> room;
  task_memory memory(room.data(), room.size());
  void* const all = memory.allocate(200);
  try {
    (void)memory.allocate(100);
    FAIL();
  } catch (const task_memory_full& full) {
    EXPECT_NE(std::string_view(full.what()).find("of 256 bytes has 48 left"), std::string_view::npos) << full.what();
    EXPECT_NE(std::string_view(full.what()).find("asked for 100"), std::string_view::npos) << full.what();
  }
  memory.deallocate(all, 200);
  const task_allocator<long> take(memory);
  EXPECT_THROW((void)task_allocator<long>(take).allocate(~std::size_t{0} / sizeof(long)), task_memory_full);
  EXPECT_THROW((void)task_allocator<long>(take).allocate(~std::size_t{0}), task_memory_full);
  EXPECT_THROW((void)memory.allocate(~std::size_t{0}), task_memory_full);
  EXPECT_EQ(memory.free(), 256);
}

TEST(task_memory, room_need_not_be_aligned_and_may_be_nothing) {
  alignas(16) std::array<std::byte, 64> room;
  for (std::size_t from = 0; from < 20; ++from) {
    for (std::size_t bytes = 0; from + bytes <= room.size(); ++bytes) {
      task_memory memory(room.data() + from, bytes);
      ASSERT_EQ(memory.free(), memory.capacity());
      ASSERT_LE(memory.capacity(), bytes);
      ASSERT_GE(memory.capacity() + 30, bytes);
      if (memory.capacity() == 0) {
        EXPECT_THROW((void)memory.allocate(0), task_memory_full);
        continue;
      }
      auto* const at = static_cast<std::byte*>(memory.allocate(memory.capacity()));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(at) % 16, 0);
      ASSERT_GE(at, room.data() + from);
      ASSERT_LE(at + memory.capacity(), room.data() + from + bytes);
    }
  }
}

TEST(task_memory, containers_of_any_kind_are_in_it) {
  using text = std::basic_string<char, std::char_traits<char>, task_allocator<char>>;
  using entry = std::pair<const int, text>;
  const std::size_t left = tobi::with_task_memory(16 * 1024, [](task_memory& memory) {
    {
      std::map<int, text, std::less<>, task_allocator<entry>> names{task_allocator<entry>(memory)};
      for (int i = 0; i < 50; ++i) names.emplace(i * 37 % 50, text(40, static_cast<char>('a' + i % 26), memory));
      EXPECT_EQ(names.size(), 50);
      EXPECT_LT(memory.free(), memory.capacity());
      int next = 0;
      for (const auto& [number, name] : names) {
        EXPECT_EQ(number, next++);
        EXPECT_EQ(name.size(), 40);
      }
      tobi::local_vector<text> sorted(memory);
      for (auto& [number, name] : names) sorted.push_back(std::move(name));
      std::sort(sorted.begin(), sorted.end());
      EXPECT_EQ(sorted.front(), text(40, 'a', memory));
    }
    return memory.capacity() - memory.free();
  });
  EXPECT_EQ(left, 0);
}

TEST(task_memory, a_vector_may_move_to_another_memory) {
  tobi::with_task_memory(4096, [](task_memory& one) {
    tobi::with_task_memory(4096, [&](task_memory& two) {
      tobi::local_vector<int> a({1, 2, 3}, one), b(two);
      b = a;  // a copy, in its own memory
      EXPECT_EQ(b.get_allocator().memory(), &two);
      b = std::move(a);  // what it had, where it was
      EXPECT_EQ(b.get_allocator().memory(), &one);
      EXPECT_EQ(b.size(), 3);
      EXPECT_EQ(two.free(), two.capacity());
    });
    EXPECT_EQ(one.free(), one.capacity());
  });
}

}  // namespace
