// SPDX-License-Identifier: Apache-2.0
// task_collection: the primes below two million, counted strip by strip, round after round. All strips are added on
// rank 0. Workers without strips steal, and begin the next round with those that they had.
#include <cstdint>
#include <cstdio>
#include <tobi/tobi.hpp>

namespace {

constexpr std::uint32_t strips = 200;
constexpr std::uint32_t strip = 10'000;

struct numbers {
  tobi::global_span<std::uint32_t> primes;  // of each strip
};
using collection = tobi::task_collection<std::uint32_t, numbers>;

bool is_prime(std::uint32_t n) {
  for (std::uint32_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

void count_strip(const std::uint32_t& index, const collection::context& here) {
  std::uint32_t found = 0;
  for (std::uint32_t n = index * strip; n < (index + 1) * strip; ++n) found += is_prime(n) ? 1 : 0;
  tobi::store(here.local().primes.data() + index, found);
}

}  // namespace

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  numbers mine{tobi::allocate_all<std::uint32_t>(strips)};
  {
    collection work(count_strip, mine);
    for (std::uint32_t i = 0; rt.rank() == 0 && i < strips; ++i) work.add(i);
    for (int round = 0; round < 3; ++round) {
      work.process();
      work.restore();
    }
  }
  if (rt.rank() == 0) {
    std::uint32_t all = 0;
    for (std::uint32_t i = 0; i < strips; ++i) all += tobi::load(mine.primes.data() + i);
    std::printf("%u primes below %u\n", all, strips * strip);
  }
  tobi::free_all(mine.primes);
}
