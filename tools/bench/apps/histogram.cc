// SPDX-License-Identifier: Apache-2.0
// The degrees of an R-MAT graph: its edges are sorted by where they begin, rows follow, and the vertices are counted by
// the power of two that their degree reaches. With --by accumulate no edge is sorted: each adds one to the degree of
// the vertex where it begins, and each leaf of the count its bins to the sum.
#include <array>
#include <bit>
#include <tobi/accumulate.hpp>
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
tobi::global_span<std::uint64_t> rows, degrees;
tobi::global_span<bins> counted;
tobi::execution_policy how;
change_by by;

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
  std::uint64_t previous = tobi::load(&rows[begin]);
  const tobi::global_span<const std::uint64_t> ends = rows.subspan(begin + 1, end - begin);
  tobi::for_each(tobi::seq, ends, [&](std::uint64_t row_end) {
    ++here[bin_of(row_end - previous)];
    previous = row_end;
  });
  return here;
}

constexpr std::size_t updates_of_a_leaf = 4096;

phase_result add_degrees() {
  const std::size_t leaf = how.cutoff != 0 ? how.cutoff : updates_of_a_leaf;
  const std::size_t leaves = (edges.size() + leaf - 1) / leaf;
  tobi::parallel_for(std::size_t{0}, leaves, 1, [=](std::size_t number) {
    const std::size_t count = std::min(leaf, edges.size() - number * leaf);
    std::vector<std::size_t> places(count);
    std::size_t* const into = places.data();
    tobi::for_each(tobi::seq, tobi::global_span<const edge>(edges.subspan(number * leaf, count)),
                   [into](edge e, std::size_t i) { into[i] = from(e); });
    tobi::accumulate_at(degrees, places, std::vector<std::uint64_t>(count, 1));
  });
  return {};
}

phase_result add_bins() {
  constexpr std::size_t leaf = 4096;
  const std::size_t leaves = (graph.vertices() + leaf - 1) / leaf;
  const tobi::global_span<std::uint64_t> sums(tobi::global_ptr<std::uint64_t>(counted.data().raw()->data()),
                                              std::tuple_size_v<bins>);
  tobi::parallel_for(std::size_t{0}, leaves, 1, [=](std::size_t number) {
    bins here{};
    const std::size_t begin = number * leaf;
    tobi::for_each(tobi::seq,
                   tobi::global_span<const std::uint64_t>(
                       degrees.subspan(begin, std::min<std::size_t>(leaf, graph.vertices() - begin))),
                   [&](std::uint64_t degree) { ++here[bin_of(degree)]; });
    tobi::accumulate(sums, here);
  });
  return {graph.vertices() - tobi::load(&sums[0])};
}

const memory_phase phases_by_updates[] = {
    {"generate", false,
     [] {
       make_edges(graph, edges);
       tobi::fill(degrees, std::uint64_t{0});
       tobi::store(counted.data(), bins{});
       return phase_result{};
     }},
    {"degrees", true, add_degrees},
    {"count", true, add_bins},
};

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
  if (by == change_by::accumulate) {
    tobi::for_each(tobi::seq, tobi::global_span<const std::uint64_t>(degrees),
                   [&](std::uint64_t d, std::size_t v) { found.number += d != degree[v] ? 1 : 0; });
    return found;
  }
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
  counted = tobi::allocate_all<bins>(1);
  by = asked.by;
  if (by == change_by::accumulate) {
    degrees = tobi::allocate_all<std::uint64_t>(graph.vertices(), dealt);
    histogram_program.phases = phases_by_updates;
    return;
  }
  scratch = tobi::allocate_all<edge>(graph.edges(), dealt);
  rows = tobi::allocate_all<std::uint64_t>(graph.vertices() + 1, dealt);
}

memory_program histogram_program{phases, wrong};

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
