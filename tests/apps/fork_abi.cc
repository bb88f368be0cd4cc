// SPDX-License-Identifier: Apache-2.0
// What compilers do with frames around forks: over-aligned closures, results and locals, alloca, failures among them,
// and results that are not what their type traits say. Prints what is wrong; tests/apps/fork_abi.sh builds it in many
// ways.
#include <alloca.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <tobi/tobi.hpp>

namespace {

using std::uint64_t;
using vector4 = double __attribute__((vector_size(32)));
using vector8 = double __attribute__((vector_size(64)));

struct alignas(64) line {
  uint64_t v[8];
};
struct four {
  vector4 v;
};
struct eight {
  vector8 v;
};
struct large {
  uint64_t v[9];
};
struct fixed {
  const int a;
  const int b;
};

[[gnu::noinline]] uint64_t odd_throws(const line& l, uint64_t i) {
  if (i % 2 != 0) throw std::runtime_error("odd");
  return l.v[0];
}

line sum_of_lines(const line& a, int depth) {
  if (depth == 0) return a;
  auto t = tobi::spawn([=] { return sum_of_lines(a, depth - 1); });
  line sum = sum_of_lines(a, depth - 1);
  const line other = t.join();
  for (int i = 0; i < 8; ++i) sum.v[i] += other.v[i];
  return sum;
}

// An aligned frame whose stack pointer moves needs a third register to find its locals by.
[[gnu::noinline]] uint64_t aligned_and_moving(int depth, uint64_t n) {
  alignas(64) volatile uint64_t keep[8];
  for (uint64_t i = 0; i < 8; ++i) keep[i] = n + i;
  auto* room = static_cast<volatile uint64_t*>(alloca(sizeof(uint64_t) * n));
  for (uint64_t i = 0; i < n; ++i) room[i] = i;
  uint64_t sum = 0;
  if (depth > 0) {
    auto t = tobi::spawn([=] { return aligned_and_moving(depth - 1, n + 1); });
    sum = aligned_and_moving(depth - 1, n + 2);
    sum += t.join();
  }
  for (uint64_t i = 0; i < 8; ++i) sum += keep[i] - n - i;
  for (uint64_t i = 0; i < n; ++i) sum += room[i] - i;
  return sum + 1;
}

int wrong = 0;
void check(bool right, const char* what) {
  if (right) return;
  ++wrong;
  std::printf("wrong: %s\n", what);
}

}  // namespace

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const line sum = tobi::run([] { return sum_of_lines(line{{1, 2, 3, 4, 5, 6, 7, 8}}, 8); });
  check(sum.v[0] == 256 && sum.v[7] == 2048, "over-aligned closures and results");
  check(tobi::run([] {
          uint64_t s = 0;
          for (uint64_t i = 0; i < 20; ++i) {
            const line a{{i, 0, 0, 0, 0, 0, 0, i}};
            try {
              auto t = tobi::spawn([=] { return odd_throws(a, i); });
              s += t.join();
            } catch (const tobi::task_error&) {
              s += 1000;
            }
          }
          return s;
        }) == 90 + 10'000,
        "a failure of a task with an over-aligned closure");
  check(tobi::run([] {
          const line a{{7, 7, 7, 7, 7, 7, 7, 7}};
          auto t = tobi::spawn([=] { return large{{1, 2, 3, 4, 5, 6, 7, 8, a.v[7]}}; });
          return t.join().v[8];
        }) == 7,
        "a large result of a task with an over-aligned closure");
  check(tobi::run([] {
          auto t = tobi::spawn([] { return four{vector4{1, 2, 3, 4}}; });
          auto u = tobi::spawn([] { return eight{vector8{1, 2, 3, 4, 5, 6, 7, 8}}; });
          return t.join().v[3] + u.join().v[7];
        }) == 12,
        "vectors as results");
  check(tobi::run([] { return aligned_and_moving(6, 3); }) == 127, "alloca in an aligned frame");
#ifdef __SIZEOF_INT128__
  __extension__ using wide = __int128;
  constexpr wide big = static_cast<wide>(0x1234567890abcdef) << 60;
  check(tobi::run([] {
          auto t = tobi::spawn([] { return big; });
          return t.join();
        }) == big,
        "an integer of two words");
#endif
  const fixed f = tobi::run([] {
    auto t = tobi::spawn([]() -> const fixed { return {3, 4}; });
    return t.join();
  });
  check(f.a == 3 && f.b == 4, "a result with const members");
  bool failed = false;
  try {
    tobi::run([] {
      const line a{};
      tobi::parallel_for(0, 1000, 1, [=](int i) { odd_throws(a, i == 77 ? 1 : 0); });
    });
  } catch (const tobi::task_error&) {
    failed = true;
  }
  check(failed, "a failure in a loop whose body is over-aligned");
  return wrong == 0 ? 0 : 1;
}
