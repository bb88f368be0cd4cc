// SPDX-License-Identifier: Apache-2.0
// R-MAT graphs (Chakrabarti, Zhan and Faloutsos, SDM 2004) with the parameters of Graph500: 2^scale vertices, each edge
// in a quarter of the matrix of probabilities 0.57, 0.19, 0.19, 0.05, level by level. Edge i depends on the seed and i
// alone, so any task can make it. Vertices are renamed, for the heavy ones to lie anywhere; loops and edges that come
// twice stay.
//
// A graph in rows (CSR) is made of its sorted edges: where a vertex first occurs its row begins.
#pragma once

#include <cstdint>
#include <tobi/algorithm.hpp>
#include <tobi/checkout.hpp>
#include <tobi/parallel.hpp>

#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

struct rmat {
  unsigned scale = 0;
  std::uint64_t degree = 0;
  std::uint64_t seed = 0;

  [[nodiscard]] std::uint64_t vertices() const noexcept { return std::uint64_t{1} << scale; }
  [[nodiscard]] std::uint64_t edges() const noexcept { return degree << scale; }
};

/// An edge as one number, which sorts by where it begins.
using edge = std::uint64_t;
inline std::uint32_t from(edge e) noexcept { return static_cast<std::uint32_t>(e >> 32); }
inline std::uint32_t to(edge e) noexcept { return static_cast<std::uint32_t>(e); }
inline edge turned(edge e) noexcept { return e << 32 | e >> 32; }

inline std::uint64_t splitmix(std::uint64_t& state) noexcept {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// One to one on [0, 2^scale): odd factors and shifts can be undone.
inline std::uint32_t renamed(std::uint64_t v, unsigned scale) noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << scale) - 1;
  v = v * 0x9e3779b1 & mask;
  v ^= v >> (scale / 2 + 1);
  v = v * 0x85ebca6b & mask;
  return static_cast<std::uint32_t>(v);
}

inline edge rmat_edge(const rmat& g, std::uint64_t i) noexcept {
  std::uint64_t state = g.seed;
  state = splitmix(state) ^ i * 0xd1342543de82ef95;
  std::uint64_t u = 0, v = 0, bits = 0;
  for (unsigned level = 0; level < g.scale; ++level) {
    bits = level % 4 == 0 ? splitmix(state) : bits >> 16;
    const double x = static_cast<double>(bits & 0xffff) / 65536.0;
    const bool down = x >= 0.76;
    const bool right = down ? x >= 0.95 : x >= 0.57;
    u = u << 1 | (down ? 1 : 0);
    v = v << 1 | (right ? 1 : 0);
  }
  return std::uint64_t{renamed(u, g.scale)} << 32 | renamed(v, g.scale);
}

/// Makes all edges of G. By tasks.
inline void make_edges(const rmat& g, tobi::global_span<edge> into) {
  tobi::for_each(tobi::par, into, tobi::mode::write, [=](edge& e, std::size_t i) { e = rmat_edge(g, i); });
}

/// rows[v] is where the edges from v begin among SORTED ones, rows[vertices] where the last end. By tasks.
inline void make_rows(tobi::global_span<const edge> sorted, tobi::global_span<std::uint64_t> rows) {
  constexpr std::size_t leaf = 2048;
  const std::size_t leaves = (sorted.size() + leaf - 1) / leaf;
  tobi::parallel_for(std::size_t{0}, leaves, 1, [=](std::size_t number) {
    const std::size_t begin = number * leaf;
    const std::size_t count = std::min(leaf, sorted.size() - begin);
    // The rows after that of the edge before. A leaf writes the rows that begin at its edges, so no two write one.
    std::uint64_t row = begin == 0 ? 0 : std::uint64_t{from(tobi::load(&sorted[begin - 1]))} + 1;
    tobi::for_each(tobi::seq, sorted.subspan(begin, count), [=](edge e, std::size_t i) mutable {
      const std::uint64_t behind = std::uint64_t{from(e)} + 1;
      if (behind > row) {
        tobi::fill(tobi::seq, rows.subspan(row, behind - row), begin + i);
        row = behind;
      }
    });
    if (begin + count == sorted.size()) {
      const std::uint64_t end = std::uint64_t{from(tobi::load(&sorted[sorted.size() - 1]))} + 1;
      tobi::fill(tobi::seq, rows.subspan(end), sorted.size());
    }
  });
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
