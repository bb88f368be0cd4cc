// SPDX-License-Identifier: Apache-2.0
// An irregular graph: the edges of a random graph (R-MAT) are made in global memory, sorted, freed of repetitions, and
// indexed by their vertices. Then triangles are counted: for each edge the neighbours that both of its ends have. The
// algorithms check out by themselves. The body of the count checks out the edges that it reads, wherever they lie.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <tobi/tobi.hpp>
#include <utility>

constexpr std::size_t levels = 12, vertices = 1 << levels;

struct edge {
  std::uint32_t from, to;  // from the larger number to the smaller one, which has more neighbours most often
  auto operator<=>(const edge&) const = default;
};

// Edge number I: it lies in one of the four quarters of the matrix, in one of the four quarters of that, and so on.
edge random_edge(std::uint64_t i) {
  edge e{0, 0};
  for (std::uint64_t level = 0, x = i; level < levels; ++level) {
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15 + i;
    const std::uint64_t chance = (x >> 32) % 100;
    const std::uint32_t quarter = chance < 57 ? 0 : chance < 76 ? 1 : chance < 95 ? 2 : 3;
    e = {2 * e.from + quarter / 2, 2 * e.to + quarter % 2};
  }
  return {std::max(e.from, e.to), std::min(e.from, e.to)};
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const auto all = tobi::allocate_all<edge>(16 * vertices);
  const auto begins = tobi::allocate_all<std::size_t>(vertices + 1);  // of the edges from each vertex
  const auto found = tobi::run([=] {
    tobi::for_each(all, [](edge& e, std::size_t i) { e = random_edge(i); });
    const auto no_loops = tobi::remove_if(all, [](const edge& e) { return e.from == e.to; });
    tobi::sort(no_loops);
    const auto edges = tobi::unique(no_loops);
    tobi::for_each(begins, [=](std::size_t& begin, std::size_t vertex) {
      const edge first{static_cast<std::uint32_t>(vertex), 0};
      begin = static_cast<std::size_t>(std::lower_bound(edges.begin(), edges.end(), first) - edges.begin());
    });
    const auto edges_from = [=](std::size_t vertex) {
      return tobi::checkout(edges.subspan(begins[vertex], begins[vertex + 1] - begins[vertex]), tobi::mode::read);
    };
    const auto triangles = [=](std::size_t vertex) {
      long common = 0;
      const auto mine = edges_from(vertex);
      for (const edge& e : mine) {
        const auto theirs = edges_from(e.to);
        const edge *a = mine.begin(), *b = theirs.begin();
        for (; a != mine.end() && b != theirs.end(); a->to <= b->to ? ++a : ++b) common += a->to == b->to ? 1 : 0;
      }
      return common;
    };
    return std::pair(edges.size(), tobi::parallel_reduce(std::size_t{0}, vertices, 0L, triangles, std::plus<>()));
  });
  if (rt.rank() == 0) std::printf("%zu edges, %ld triangles\n", found.first, found.second);
}
