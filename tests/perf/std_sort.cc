// SPDX-License-Identifier: Apache-2.0
// std::sort of the numbers that tobi-bench cilksort sorts, as many as the first argument says, REPEAT (second) times:
// seconds a line.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

// As in tools/bench/apps/cilksort.cc (splitmix64).
std::int32_t value_at(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<std::int32_t>(z ^ (z >> 31));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const int repeat = argc > 2 ? std::atoi(argv[2]) : 5;
  std::vector<std::int32_t> a(n);
  for (int run = 0; run < repeat; ++run) {
    for (std::size_t i = 0; i < n; ++i) a[i] = value_at(i);
    const auto begin = std::chrono::steady_clock::now();
    std::sort(a.begin(), a.end());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("   std::sort of %zu numbers: %.3f s\n", n, took.count());
    if (!std::is_sorted(a.begin(), a.end())) return 1;
  }
  return 0;
}
