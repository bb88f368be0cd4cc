// SPDX-License-Identifier: Apache-2.0
// Futures: a grid of blocks in which each one waits for its left and its upper neighbour. Two tasks join each future,
// so each is made for two consumers, but those at the right and lower edges for one. The value is the number of paths
// to the block.
#include <cstdio>
#include <tobi/tobi.hpp>

constexpr unsigned side = 16;

using block = tobi::future<std::uint64_t>;

block start(block left, bool has_left, block up, bool has_up, bool last_column, bool last_row) {
  const std::uint32_t consumers = (last_column ? 0u : 1u) + (last_row ? 0u : 1u);
  return tobi::spawn_future(
      [=]() -> std::uint64_t {
        const std::uint64_t from_left = has_left ? left.join() : 0;
        const std::uint64_t from_up = has_up ? up.join() : 0;
        return has_left || has_up ? from_left + from_up : 1;
      },
      consumers == 0 ? 1 : consumers);
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const std::uint64_t paths = tobi::run([] {
    block above[side];  // the row before; local to this task, so it moves along with it
    block corner;
    for (unsigned row = 0; row < side; ++row) {
      block left;
      for (unsigned column = 0; column < side; ++column) {
        left = above[column] = start(left, column > 0, above[column], row > 0, column + 1 == side, row + 1 == side);
      }
      corner = left;
    }
    return corner.join();
  });
  if (rt.rank() == 0)
    std::printf("%llu paths through %u x %u blocks\n", static_cast<unsigned long long>(paths), side, side);
}
