// SPDX-License-Identifier: Apache-2.0
// The registered heap under threads: each object is one thread's at a time. jemalloc itself is not instrumented; what
// ThreadSanitizer sees are the objects' bytes, and the locks that hand them from thread to thread.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "alloc/heap.hpp"
#include "libcore/base/rng.hpp"

namespace {

using namespace tobi;

TEST(heap, threads_allocate_and_free_each_other_s_objects) {
  // Plain memory: the segment's addresses are not among those that ThreadSanitizer knows.
  constexpr std::size_t bytes = 64u << 20;
  void* range = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  alloc::heap heap(static_cast<std::byte*>(range), bytes);
  struct object {
    std::uint64_t* words;
    std::size_t count;
    std::uint64_t mark;
  };
  std::mutex guard;
  std::vector<object> shared;
  std::vector<std::string> wrong;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      base::rng random(t + 1);
      for (int i = 0; i < 5000; ++i) {
        object o{nullptr, 1 + random.uniform(100), random()};
        o.words = static_cast<std::uint64_t*>(heap.allocate(o.count * 8));
        ASSERT_NE(o.words, nullptr);
        for (std::size_t k = 0; k < o.count; ++k) o.words[k] = o.mark + k;
        object mine{};
        {
          const std::lock_guard lock(guard);
          shared.push_back(o);
          std::swap(shared[random.uniform(shared.size())], shared.back());
          mine = shared.back();
          shared.pop_back();
        }
        for (std::size_t k = 0; k < mine.count; ++k) {
          if (mine.words[k] != mine.mark + k) {
            const std::lock_guard lock(guard);
            wrong.emplace_back("an object has another's bytes");
            return;
          }
        }
        heap.deallocate(mine.words);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_TRUE(wrong.empty()) << wrong.front();
  EXPECT_TRUE(shared.empty());
}

}  // namespace
