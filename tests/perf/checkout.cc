// SPDX-License-Identifier: Apache-2.0
// What a checkout costs that finds what it wants: a pair of checkout and checkin, in nanoseconds, medians of several
// rounds. Homes of the same node are measured with one worker, the cache with two that the fabric `sim` keeps apart (a
// hit does not reach the fabric).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tobi/tobi.hpp>
#include <vector>

namespace {

volatile long sink = 0;

template <class F>
double ns_each(F f) {
  constexpr int rounds = 9;
  constexpr int times = 200'000;
  std::vector<double> all;
  for (int r = 0; r < rounds; ++r) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) f(i);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    all.push_back(took.count() / times);
  }
  std::sort(all.begin(), all.end());
  return all[rounds / 2];
}

void say(const char* what, double ns) { std::printf("   %-64s %8.1f ns\n", what, ns); }

void measure(const char* where, tobi::global_span<long> a) {
  // Everything is there before the clock runs.
  for (std::size_t i = 0; i < a.size(); i += 4096) sink = tobi::load(&a[i]);
  for (std::size_t i = 0; i < 8192; i += 512) sink = *tobi::checkout(a.subspan(i, 512), tobi::mode::read).data();
  const auto line = [&](const char* what, double ns) {
    char text[128];
    std::snprintf(text, sizeof text, "%s: %s", where, what);
    say(text, ns);
  };
  line("read 8 bytes, always the same", ns_each([&](int) { sink = tobi::load(&a[5]); }));
  line("read 8 bytes, all over 64 KiB",
       ns_each([&](int i) { sink = tobi::load(&a[static_cast<std::size_t>(i * 37 % 8192)]); }));
  line("write 8 bytes", ns_each([&](int i) { tobi::store(&a[7], static_cast<long>(i)); }));
  line("read 64 KiB, of which one word is used",
       ns_each([&](int) { sink = tobi::checkout(a.first(8192), tobi::mode::read)[77]; }));
}

}  // namespace

int main(int argc, char** argv) {
  const bool cached = argc > 1 && std::strcmp(argv[1], "cached") == 0;
  if (cached) {
    setenv("TOBI_NODES", "2", 1);
    setenv("TOBI_TRANSPORT", "sim", 1);
  }
  tobi::runtime rt(tobi::options{.workers = cached ? 2 : 1});
  const auto a = tobi::allocate_all<long>(1 << 20);
  if (rt.rank() == 0) {
    // In a block distribution the second half is the other worker's.
    measure(cached ? "in the cache" : "home of this node", cached ? a.subspan(a.size() / 2) : a);
  }
  rt.barrier();
  return 0;
}
