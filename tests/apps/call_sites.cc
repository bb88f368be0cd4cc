// SPDX-License-Identifier: Apache-2.0
// Reads memory of another node in each of the ways that there are, in phases of their own (call_sites.sh). The lines
// that a report has to name are marked, for the script to find them.
#include <cstdio>
#include <tobi/tobi.hpp>

constexpr std::size_t half = 64 * 1024;  // of the numbers: what one worker has

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  if (rt.size() != 2) return 2;
  const auto a = tobi::allocate_all<unsigned long>(2 * half);
  tobi::begin_phase("in main");
  const unsigned long sum = tobi::run([=] {
    tobi::begin_phase("near");
    unsigned long s = tobi::checkout(a.subspan(0, 8192), tobi::mode::read)[1];
    tobi::begin_phase("far");
    s += tobi::checkout(a.subspan(half, 8192), tobi::mode::read)[1];  // a checkout
    s += tobi::load(a.data() + half + 10'000);                        // a load
    s += a[half + 20'000];                                            // an element
    tobi::begin_phase("a leaf of an algorithm, whose name is long");
    const tobi::execution_policy here{.cutoff = 8192, .where = tobi::affinity::none};
    s += tobi::reduce(here, a.subspan(half + half / 2, half / 2), 0UL,
                      [](unsigned long p, unsigned long q) {  // an algorithm
                        return p + q;
                      });
    return s;
  });
  tobi::begin_phase("near");
  if (rt.rank() == 0) std::printf("%lu\n", sum);
  tobi::free_all(a);
}
