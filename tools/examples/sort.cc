// SPDX-License-Identifier: Apache-2.0
// Algorithms over global memory: ten million numbers are made, sorted and summed up by all workers. None of this
// handles a checkout: the algorithms do.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <tobi/tobi.hpp>

// A number that looks like chance, from its index.
std::uint32_t scrambled(std::uint32_t i) {
  i = (i ^ (i >> 16)) * 0x45d9f3bu;
  i = (i ^ (i >> 16)) * 0x45d9f3bu;
  return i ^ (i >> 16);
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  constexpr std::size_t n = 10'000'000;
  // Collective: every worker allocates before the root begins. Pieces of a megabyte go to the workers in turn.
  const auto numbers = tobi::allocate_all<std::uint32_t>(n, tobi::block_cyclic(1 << 20));
  const bool right = tobi::run([=] {
    tobi::iota(numbers, 0u);
    tobi::transform(numbers, numbers, scrambled);
    const auto before = tobi::reduce(numbers, std::uint64_t{0});
    tobi::sort(numbers);
    const auto falls = [](std::uint32_t a, std::uint32_t b) { return b < a ? 1 : 0; };
    const long out_of_order =
        tobi::transform_reduce(numbers.first(n - 1), numbers.subspan(1), 0L, std::plus<>{}, falls);
    return out_of_order == 0 && tobi::reduce(numbers, std::uint64_t{0}) == before;
  });
  tobi::free_all(numbers);
  if (rt.rank() == 0) std::printf("%zu numbers are %s\n", n, right ? "sorted" : "not sorted");
  return right ? 0 : 1;
}
