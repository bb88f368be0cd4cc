// SPDX-License-Identifier: Apache-2.0
// Monte Carlo: particles fly through a slab, where they are scattered or absorbed. Each particle has random numbers of
// its own, which are made from its number, so no result depends on where a particle is computed. The map of the
// reduction gets a range of particles, and fills a tally for them. A tally is of integers, whose sums are exact.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <tobi/tobi.hpp>

constexpr std::uint64_t particles = 1'000'000, layers = 20;
constexpr double thickness = 5;  // in mean free paths

// Counter-based random numbers: number I of particle P is a function of both.
struct stream {
  std::uint64_t particle, drawn = 0;
  double next() {  // between 0 and 1
    std::uint64_t x = (particle << 32 | drawn++) * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return static_cast<double>((x ^ x >> 31) >> 11 | 1) * 0x1p-53;
  }
};

// Where particles end: before the slab, in its layers, behind it.
using tally = std::array<std::uint64_t, layers + 2>;

std::uint64_t end_of(stream random) {
  double depth = 0, direction = 1;
  for (;;) {
    depth -= direction * std::log(random.next());
    if (depth < 0) return 0;
    if (depth >= thickness) return layers + 1;
    if (random.next() < 0.3) return 1 + static_cast<std::uint64_t>(depth / thickness * layers);
    direction = 2 * random.next() - 1;
  }
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const tally ends = tobi::run([] {
    const auto fly = [](std::uint64_t first, std::uint64_t last) {
      tally mine{};
      for (std::uint64_t p = first; p < last; ++p) ++mine[end_of(stream{p})];
      return mine;
    };
    const auto sum = [](tally a, const tally& b) {
      for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
      return a;
    };
    return tobi::parallel_reduce(std::uint64_t{0}, particles, tally{}, fly, sum);
  });
  std::uint64_t checksum = 0;
  for (const std::uint64_t n : ends) checksum = 31 * checksum + n;
  if (rt.rank() == 0) std::printf("%ju came back, %ju went through, checksum %016jx\n", ends[0], ends.back(), checksum);
  return std::accumulate(ends.begin(), ends.end(), std::uint64_t{0}) == particles ? 0 : 1;
}
