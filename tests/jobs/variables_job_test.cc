// SPDX-License-Identifier: Apache-2.0
// Variables that are not a task's own: globals, and locals of main and of other tasks. What goes wrong with them is
// named.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "libcore/job/captured_vectors.hpp"
#include "mistakes.hpp"

long hits = 0;

namespace {

// --- global variables in tasks ----------------------------------------------------------------------------

long quiet_hits = 0;
struct {
  long of[100] = {};
} many;
constexpr const char* is_global = " has changed here while tasks ran";

long count_calls() {
  static long calls = 0;
  return ++calls;
}
long made_in_a_task() {
  static const std::string made = "a local of a function, made at its first call, in each process by itself";
  return static_cast<long>(made.size());
}

TEST(a_global_variable, is_named_where_tasks_change_it) {
  for (const int workers : {1, 3}) {
    const outcome o = in_job(workers, {{"TOBI_DEBUG_MIGRATE", "1"}}, [](tobi::runtime&) {
      hits = 5;
      quiet_hits = 1;
      for (int i = 0; i < 2; ++i) {
        tobi::run([] {
          tobi::parallel_for(0, 64, 1, [](int k) {
            ++hits;
            many.of[k] = k;
            count_calls();
          });
        });
      }
      tobi::run([] { return made_in_a_task() + quiet_hits + many.of[quiet_hits]; });
      return 0;
    });
    EXPECT_EQ(o.status, 0) << o.said;
    const auto said = [&](const std::string& name) {
      return o.said.find("variable " + name + is_global) != std::string::npos;
    };
    EXPECT_TRUE(said("hits")) << o.said;
    EXPECT_TRUE(said("(anonymous namespace)::many")) << o.said;
    EXPECT_TRUE(said("(anonymous namespace)::count_calls()::calls")) << o.said;
    // Nothing else: not what only main has changed, not what is made once, and nothing of the library.
    std::size_t named = 0;
    for (std::size_t at = 0; (at = o.said.find(is_global, at)) != std::string::npos; ++at) ++named;
    EXPECT_LE(named, 3U * static_cast<unsigned>(workers)) << o.said;
    EXPECT_EQ(o.said.find("quiet_hits"), std::string::npos) << o.said;
    EXPECT_EQ(o.said.find("made_in_a_task"), std::string::npos) << o.said;
  }
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    tobi::run([] { ++hits; });
    return 0;
  });
  EXPECT_EQ(o.said, "");
}

// --- main's locals in tasks -------------------------------------------------------------------------------

constexpr const char* is_of_main = "a task writes to a local of main";
constexpr environment debugging{{"TOBI_DEBUG_MIGRATE", "1"}};

TEST(a_local_of_main, is_found_where_a_task_writes_to_it) {
  for (const int workers : {1, 3}) {
    for (const char* sched : {"continuation_greedy", "continuation_stalling"}) {
      ends_with(is_of_main, workers, {{"TOBI_DEBUG_MIGRATE", "1"}, {"TOBI_SCHED", sched}}, [](tobi::runtime&) {
        long v = 0;
        tobi::run([&] { v = some_work(8); });
        return v == 21 ? 0 : 1;
      });
    }
    ends_with(" (the target of word 0 of the closure of tobi::run), ", workers, debugging, [](tobi::runtime&) {
      long v = 0;
      tobi::run([&] { v = some_work(8); });
      return v == 21 ? 0 : 1;
    });
    ends_with(is_of_main, workers, debugging, [](tobi::runtime&) {
      long a[64] = {};
      tobi::run([&] { tobi::parallel_for(0, 64, 1, [&](int i) { a[i] = some_work(5) + i; }); });
      return a[63] == 68 ? 0 : 1;
    });
    ends_with("; the line: addr2line -Cfie /", workers, debugging, [](tobi::runtime&) {
      struct {
        long sums[16] = {};
      } all;
      tobi::run([&] { all.sums[9] = 1; });
      return static_cast<int>(all.sums[9]) - 1;
    });
  }
}

// --- vectors of main in tasks ------------------------------------------------------------------------------

constexpr const char* is_a_vector = "a vector of main, of ";

// Elements that the root's captures reach. Whoever executes a task, one process has changed its own.
TEST(a_vector_of_main, is_told_where_tasks_fill_it) {
  if (!tobi::job::captured_vectors::can_look()) GTEST_SKIP() << "process_vm_readv is forbidden here";
  for (const environment& env : {environment{}, debugging}) {
    const outcome long_one = in_job(2, env, [](tobi::runtime&) {
      std::vector<long> v(2000);
      for (int i = 0; i < 3; ++i) {
        tobi::run([&] { tobi::parallel_for(0, 2000, 1, [&](int k) { v[static_cast<std::size_t>(k)] += k + 1; }); });
      }
      return 0;
    });
    EXPECT_EQ(long_one.status, 0) << long_one.said;
    EXPECT_NE(long_one.said.find(std::string(is_a_vector) + "16000 bytes, which"), std::string::npos) << long_one.said;
    const outcome few = in_job(3, env, [](tobi::runtime&) {
      std::vector<std::vector<char>> untouched(9);
      std::vector<char> v(3);
      tobi::run([&] { v[2] = static_cast<char>(untouched.size()); });
      return 0;
    });
    EXPECT_NE(few.said.find(std::string(is_a_vector) + "3 bytes, which"), std::string::npos) << few.said;
    EXPECT_EQ(few.said.find(is_a_vector), few.said.rfind(is_a_vector)) << "one process ran the task: " << few.said;
  }
  // Every element, where that is asked for.
  const outcome one = in_job(2, debugging, [](tobi::runtime&) {
    std::vector<int> v(100'000);
    tobi::run([&] { v[54'321] = 1; });
    return 0;
  });
  EXPECT_NE(one.said.find(is_a_vector), std::string::npos) << one.said;
}

TEST(a_vector_of_main, is_used_by_right) {
  const auto right = [](tobi::runtime& rt) {
    struct sorted_addresses {
      tobi::global_ptr<long> first, middle, last;
    };
    const auto all = tobi::allocate_all<long>(300);
    const sorted_addresses three{all.data(), all.data() + 100, all.data() + 200};
    std::vector<long> table(2000, 7);
    std::vector<long> empty;
    std::vector<long> mine;
    struct shape {
      virtual ~shape() = default;
      long* sides = nullptr;
    };
    shape square;
    std::vector<long> sides(4);
    square.sides = sides.data();
    long last = 0;
    for (int i = 0; i < 3; ++i) {
      table[0] = i;       // by main
      mine.assign(9, i);  // as it does here
      last = tobi::run([&, n = rt.size()] {
        tobi::parallel_for(0, 200, 1, [&](int k) { three.first[k] = table[static_cast<std::size_t>(k)]; });
        return *three.middle + static_cast<long>(empty.size() + mine.size()) + square.sides[0] * n;
      });
    }
    return last == 16 ? 0 : 4;
  };
  for (const environment& env : {environment{}, debugging}) {
    const outcome o = in_job(3, env, right);
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
  }
  const outcome alone = in_job(1, {}, [](tobi::runtime&) {
    std::vector<long> v(20);
    tobi::run([&] { v[0] = 1; });
    return static_cast<int>(v[0]) - 1;
  });
  EXPECT_EQ(alone.status, 0);
  EXPECT_EQ(alone.said, "");
}

// --- pointers of main in tasks -----------------------------------------------------------------------------

constexpr const char* is_a_pointer = "of what the root of tobi::run captures is a pointer into";

// Memory at another address on each rank, with the rank in it.
const int* own_memory(int rank, int fd = -1) {
  auto* const hint =
      reinterpret_cast<void*>(std::uintptr_t{0x610000000000} + (std::uintptr_t{1} << 30) * static_cast<unsigned>(rank));
  const int how = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE;
  void* const at = mmap(hint, 4096, PROT_READ | PROT_WRITE, how, fd, 0);
  if (at == MAP_FAILED) std::abort();
  if (fd < 0) *static_cast<int*>(at) = rank;
  return static_cast<const int*>(at);
}

TEST(a_pointer_of_main, is_told_where_it_is_another_one_on_rank_0) {
  for (const environment& env : {environment{}, debugging}) {
    const outcome memory = in_job(3, env, [](tobi::runtime& rt) {
      const int* mine = own_memory(rt.rank());
      for (int i = 0; i < 3; ++i) {
        tobi::run([=, before = 7L] { return mine != nullptr ? before : 0; });
      }
      return 0;
    });
    EXPECT_EQ(memory.status, 0) << memory.said;
    EXPECT_NE(memory.said.find("rank 1 on"), std::string::npos) << memory.said;
    EXPECT_NE(memory.said.find("rank 2 on"), std::string::npos) << memory.said;
    EXPECT_NE(memory.said.find(std::string(is_a_pointer) + " memory of malloc or mmap here"), std::string::npos)
        << memory.said;
  }
  const outcome file = in_job(2, {}, [](tobi::runtime& rt) {
    const int fd = open("/proc/self/exe", O_RDONLY);
    const int* mine = own_memory(rt.rank(), fd);
    tobi::run([=] { return mine != nullptr; });
    return 0;
  });
  EXPECT_NE(file.said.find(std::string(is_a_pointer) + " a mapping of /"), std::string::npos) << file.said;
}

TEST(a_pointer_of_main, is_used_by_right) {
  const outcome o = in_job(3, {}, [](tobi::runtime& rt) {
    static int of_the_program = 3;
    const int* const alike = own_memory(7);
    const int* const mine = own_memory(rt.rank());
    tobi::per_worker<const int*> each(mine);
    const auto all = tobi::allocate_all<int>(10);
    std::uint64_t number = static_cast<std::uint64_t>(rt.rank()) << 20;
    return tobi::run([=, &rt, h = each.handle(), at = &of_the_program] {
      return rt.size() == 3 && *at == 3 && *alike == 7 && *h != nullptr && all.size() == 10 && number == 0 ? 0 : 1;
    });
  });
  EXPECT_EQ(o.status, 0) << o.said;
  EXPECT_EQ(o.said, "");
}

#if __has_builtin(__builtin_clear_padding)
// What memory held before where a capture is empty, or has room behind it, is no capture.
TEST(a_pointer_of_main, is_not_seen_between_captures) {
  const outcome o = in_job(2, {}, [](tobi::runtime& rt) {
    const int* const mine = own_memory(rt.rank());
    auto root = [n = 5L, next = [](int x) { return x + 1; }] { return next(static_cast<int>(n)); };
    static_assert(sizeof root == 2 * sizeof mine);
    std::memcpy(reinterpret_cast<std::byte*>(&root) + sizeof mine, &mine, sizeof mine);
    return tobi::run(root) == 6 ? 0 : 1;
  });
  EXPECT_EQ(o.status, 0) << o.said;
  EXPECT_EQ(o.said, "");
}
#endif

// By its byte alone: the tests are compiled without the names of types and variables (tests/apps/debug_names.sh).
TEST(a_local_of_main, is_traced_to_the_closure_that_points_to_it) {
  for (const int workers : {1, 3}) {
    for (const char* deque : {"steal_word", "the"}) {
      ends_with("holds a pointer to it at byte 8", workers, {{"TOBI_DEBUG_MIGRATE", "1"}, {"TOBI_DEQUE", deque}},
                [](tobi::runtime& rt) {
                  long v = 0;
                  long* const to = &v;
                  const long n = rt.size();
                  tobi::run([=] {
                    auto t = tobi::spawn([n, to] { *to = some_work(n); });
                    t.join();
                  });
                  return v == 0 ? 3 : 0;
                });
    }
    // In a task far below the one whose closure it was, on whatever worker that has come to.
    ends_with("; the closure of a task holds a pointer to ", workers, debugging, [](tobi::runtime&) {
      struct all {
        long of[64] = {};
        static void fill(long* to, long from, long end) {
          if (end - from == 1) {
            to[from] = some_work(5);
            return;
          }
          const long middle = (from + end) / 2;
          auto t = tobi::spawn([=] { fill(to, from, middle); });
          fill(to, middle, end);
          t.join();
        }
      } mine;
      tobi::run([&] { all::fill(mine.of, 0, 64); });
      return 3;
    });
  }
}

TEST(a_local_of_another_task, is_traced_to_the_closure_that_points_to_it) {
  for (const int workers : {1, 3}) {
    for (const bool writes : {false, true}) {
      ends_with("has moved away (the closure of a task holds a pointer to it at byte 0", workers, debugging,
                [=](tobi::runtime&) {
                  return tobi::run([=] {
                    long mine = 1;
                    auto t = tobi::spawn([&mine, writes] { return writes ? mine = 2 : mine + 1; });
                    return t.join() == 2 ? 3 : 4;
                  });
                });
    }
    ends_with("; the line: addr2line -Cfie /", workers, debugging, [](tobi::runtime&) {
      return tobi::run([] {
        long mine = 1;
        auto t = tobi::spawn([&mine] { return mine + 1; });
        return t.join() == 2 ? 3 : 4;
      });
    });
  }
}

TEST(locals_of_main, are_read_by_tasks_and_written_by_others) {
  const outcome o = in_job(2, debugging, [](tobi::runtime& rt) {
    long failed = 0;
    long n = 10;
    for (int i = 0; i < 3; ++i) {
      failed += tobi::run([&] { return some_work(n + rt.size() - 2); }) == 55 ? 0 : 1;
      const long got = tobi::run([=] { return some_work(n); });
      failed += got == 55 ? 0 : 2;
      // What this thread does outside of tasks, and another one at any time.
      std::atomic<long> counted = 0;
      std::atomic<bool> over = false;
      std::thread other([&] {
        while (!over) ++counted;
      });
      while (counted == 0) std::this_thread::yield();
      failed += tobi::run([] { return some_work(12); }) == 144 ? 0 : 4;
      over = true;
      other.join();
      try {
        throw 1;
      } catch (int) {
        failed += tobi::run([] { return some_work(9); }) == 34 ? 0 : 16;
      }
      try {
        tobi::run([] { throw std::runtime_error("on purpose"); });
      } catch (const tobi::task_error&) {
        n = 10;
      }
      tobi::run([] { setenv("A_NAME", "x", 1), unsetenv("A_NAME"); });
    }
    return static_cast<int>(failed);
  });
  EXPECT_EQ(o.status, 0) << o.said;
  EXPECT_EQ(o.said, "");
}

}  // namespace
