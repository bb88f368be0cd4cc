// SPDX-License-Identifier: Apache-2.0
// The degrees of an R-MAT graph: its edges are sorted by where they begin, rows follow, and the vertices are counted by
// the power of two that their degree reaches.
#include <array>
#include <bit>
#include <tobi/global_memory.hpp>
#include <vector>

#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/apps/rmat.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

// Bin 0: no edge; bin k: at least 2^(k-1) and less than 2^k.
using bins = std::array<std::uint64_t, 65>;
std::size_t bin_of(std::uint64_t degree) { return static_cast<std::size_t>(std::bit_width(degree)); }

// Set before the run, in every process alike.
rmat graph;
tobi::global_span<edge> edges, scratch;
tobi::global_span<std::uint64_t> rows;
tobi::global_span<bins> counted;
tobi::execution_policy how;

bins count(std::size_t begin, std::size_t end) {
  constexpr std::size_t leaf = 4096;
  if (end - begin > leaf) {
    const std::size_t middle = begin + (end - begin) / 2;
    auto left = tobi::spawn([=] { return count(begin, middle); });
    bins all = count(middle, end);
    const bins other = left.join();
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += other[i];
    return all;
  }
  bins here{};
  std::uint64_t previous = tobi::load(rows[begin]);
  const tobi::global_span<const std::uint64_t> ends = rows.subspan(begin + 1, end - begin);
  tobi::for_each(tobi::seq, ends, [&](std::uint64_t row_end) {
    ++here[bin_of(row_end - previous)];
    previous = row_end;
  });
  return here;
}

const memory_phase phases[] = {
    {"generate", false,
     [] {
       make_edges(graph, edges);
       return phase_result{};
     }},
    {"sort", true,
     [] {
       tobi::sort(how, edges, scratch);
       return phase_result{};
     }},
    {"rows", true,
     [] {
       make_rows(edges, rows);
       return phase_result{};
     }},
    {"count", true,
     [] {
       const bins all = count(0, graph.vertices());
       tobi::store(counted.data(), all);
       return phase_result{graph.vertices() - all[0]};
     }},
};

// Degrees from the generator, without the sorted edges.
phase_result wrong() {
  std::vector<std::uint64_t> degree(graph.vertices());
  for (std::uint64_t i = 0; i < graph.edges(); ++i) ++degree[from(rmat_edge(graph, i))];
  bins right{};
  for (const std::uint64_t d : degree) ++right[bin_of(d)];
  phase_result found;
  const bins got = tobi::load(counted.data());
  for (std::size_t i = 0; i < right.size(); ++i) found.number += got[i] != right[i] ? 1 : 0;
  std::uint64_t row = 0;
  tobi::for_each(tobi::seq, tobi::global_span<const std::uint64_t>(rows), [&](std::uint64_t begin, std::size_t v) {
    found.number += begin != row ? 1 : 0;
    if (v < degree.size()) row += degree[v];
  });
  return found;
}

}  // namespace

void histogram_prepare(const graph_options& asked) {
  graph = {static_cast<unsigned>(asked.scale), asked.degree, asked.seed};
  how.cutoff = asked.cutoff;
  const tobi::distribution dealt{asked.chunk};
  edges = tobi::allocate_all<edge>(graph.edges(), dealt);
  scratch = tobi::allocate_all<edge>(graph.edges(), dealt);
  rows = tobi::allocate_all<std::uint64_t>(graph.vertices() + 1, dealt);
  counted = tobi::allocate_all<bins>(1);
}

const memory_program histogram_program{phases, wrong};

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
