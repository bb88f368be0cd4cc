// SPDX-License-Identifier: Apache-2.0
// finish and async: how many ways there are to place queens on a board, none of which attacks another. Each async may
// make further ones and end before they do; the finish waits for all of them. A count that each adds to would be a data
// race, so every first row of queens has a counter of its own, for which one task is responsible.
#include <array>
#include <cstdint>
#include <cstdio>
#include <tobi/tobi.hpp>

constexpr unsigned side = 10;

struct position {
  std::uint32_t columns = 0, left = 0, right = 0;  // attacked in the next row: bit i is column i
  unsigned row = 0;

  [[nodiscard]] bool is_free(unsigned column) const { return ((columns | left | right) >> column & 1) == 0; }
  [[nodiscard]] position with(unsigned column) const {
    const std::uint32_t here = 1u << column;
    return {columns | here, (left | here) << 1, (right | here) >> 1, row + 1};
  }
};

long solutions(position p) {
  if (p.row == side) return 1;
  long found = 0;
  for (unsigned column = 0; column < side; ++column) {
    if (p.is_free(column)) found += solutions(p.with(column));
  }
  return found;
}

// The first two rows are asyncs, one of another; below them it is cheaper to search at once.
void search(position p, tobi::global_span<long> found) {
  for (unsigned column = 0; column < side; ++column) {
    if (!p.is_free(column)) continue;
    tobi::async([=] {
      const position next = p.with(column);
      if (next.row < 2) {
        search(next, found.subspan(column * side, side));
        return;
      }
      const long ways = solutions(next);
      tobi::checkout(found.subspan(column, 1), tobi::mode::write)[0] = ways;
    });
  }
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const auto found = tobi::allocate_all<long>(side * side);
  const long all = tobi::run([=] {
    tobi::fill(found, 0L);
    tobi::finish([=] { search(position{}, found); });
    return tobi::reduce(found);
  });
  if (rt.rank() == 0) std::printf("%ld ways for %u queens\n", all, side);
}
