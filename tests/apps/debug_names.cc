// SPDX-License-Identifier: Apache-2.0
// What a task does wrong with a pointer, each by its name on the command line (debug_names.sh). The lines that a report
// names are marked, for the script to find them.
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <new>
#include <string_view>
#include <tobi/tobi.hpp>

[[gnu::noinline]] long work(long n) {
  if (n < 2) return n;
  auto t = tobi::spawn([=] { return work(n - 1); });
  const long y = work(n - 2);
  return t.join() + y;
}

[[gnu::noinline]] long solve() {
  long total = 0;
  tobi::run([&] { total = work(6); });
  return total;
}

[[gnu::noinline]] long stores(long* where, long what) { return *where = what; }

struct all_sums {
  long before = 0;
  long sums[16] = {};
};

// Words that look like pointers to a local of main and to one of the task, in closures that do not use them as such.
long harmless(const void* of_main) {
  long mine = 7;
  const auto a = reinterpret_cast<std::uintptr_t>(of_main), b = reinterpret_cast<std::uintptr_t>(&mine);
  auto t = tobi::spawn([=] { return static_cast<long>((a ^ b) & 0) + work(5); });
  const long got = t.join();
  return got + mine;
}

// The caller goes on in another worker, and only then does its child end here.
long elsewhere(std::atomic<int>* has_moved) {
  auto t = tobi::spawn([=] {
    while (has_moved->load() == 0) {
    }
    return 3L;
  });
  has_moved->store(1);
  return t.join();
}

int main(int argc, char** argv) {
  void* const of_all = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const has_moved = new (of_all) std::atomic<int>{0};
  tobi::runtime rt(argc, argv);
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "local") {
    long found = 0;  // found is declared
    tobi::run([&] { found = work(8); });
    return found == 21 ? 0 : 1;
  }
  if (what == "array") {
    long cells[64] = {};
    tobi::run([&] {
      tobi::parallel_for(0, 64, 1, [&](int i) { cells[i] = work(3) + i; });  // a loop's closure
    });
    return cells[63] == 65 ? 0 : 1;
  }
  if (what == "member") {
    all_sums all;
    tobi::run([&] { all.sums[9] = 1; });
    return static_cast<int>(all.sums[9]) - 1;
  }
  if (what == "caller") return solve() == 8 ? 0 : 1;
  if (what == "pointer") {
    long found = 0;
    long* const to = &found;
    const long n = rt.size();
    tobi::run([=] {
      auto t = tobi::spawn([=] { *to = work(n + 3); });  // a closure with a pointer
      t.join();
    });
    return found > 0 ? 0 : 1;
  }
  if (what == "bound") {
    long found = 0;
    tobi::run([&] { return tobi::spawn(stores, &found, 5L).join(); });
    return found == 5 ? 0 : 1;
  }
  if (what == "large") {
    long found = 0;
    struct {
      long of[9] = {};
      long* to = nullptr;
    } much;
    much.to = &found;
    tobi::run([=] {
      auto t = tobi::spawn([=] { *much.to = much.of[3]; });  // a large closure
      t.join();
    });
    return 0;
  }
  if (what == "parent") {
    return tobi::run([] {
      long mine = 0;
      auto t = tobi::spawn([&mine] { return mine = work(4); });  // a closure by reference
      return t.join() + mine == 6 ? 0 : 1;
    });
  }
  if (what == "moved") {
    return tobi::run([here = has_moved] {
      long mine = 0;
      auto t = tobi::spawn([&mine, here] { return mine = elsewhere(here); });  // goes on elsewhere
      return t.join() + mine == 6 ? 0 : 1;
    });
  }
  if (what == "harmless") {
    long seen = 5;
    const void* const at = &seen;
    long failed = 0;
    for (int i = 0; i < 3; ++i) failed += tobi::run([=] { return harmless(at); }) == 12 ? 0 : 1;
    return static_cast<int>(failed + seen) - 5;
  }
  return 9;
}
