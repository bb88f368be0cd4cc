// SPDX-License-Identifier: Apache-2.0
// PageRank on an R-MAT graph, pulled along the edges that come in: rank(v) = (1 - d + d lost) / n + d sum rank(u) /
// degree(u), where vertices without edges lose theirs to all. A fixed number of iterations. The graph is built in
// rows twice: once for the degrees, once turned, for the edges that come in.
#include <cmath>
#include <functional>
#include <tobi/global_memory.hpp>
#include <utility>
#include <vector>

#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/apps/placed.hpp"
#include "tools/bench/apps/rmat.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

constexpr double damping = 0.85;

// Set before the run, in every process alike.
rmat graph;
std::uint64_t iterations;
tobi::execution_policy loops;  // of the loops of an iteration
tobi::execution_policy how;    // of the one over edges that come in
tobi::global_span<edge> edges, scratch;
tobi::global_span<std::uint64_t> rows;
tobi::global_span<std::uint32_t> sources;  // where the edges that come in begin, row by row
tobi::global_span<double> inverse_degree;  // 0: no edges
tobi::global_span<double> rank, contribution;

phase_result build() {
  make_edges(graph, edges);
  tobi::sort(edges, scratch);
  make_rows(edges, rows);
  const auto begins = rows.first(graph.vertices()), ends = rows.subspan(1);
  tobi::transform(begins, ends, inverse_degree, [](std::uint64_t begin, std::uint64_t end) {
    return begin == end ? 0.0 : 1.0 / static_cast<double>(end - begin);
  });
  tobi::transform(edges, edges, turned);
  tobi::sort(edges, scratch);
  make_rows(edges, rows);
  tobi::transform(edges, sources, to);
  return {};
}

phase_result iterate() {
  const double n = static_cast<double>(graph.vertices());
  tobi::fill(loops, rank, 1.0 / n);
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const double lost = tobi::transform_reduce(loops, rank, inverse_degree, 0.0, std::plus<>(),
                                               [](double r, double inverse) { return inverse == 0.0 ? r : 0.0; });
    const double base = (1.0 - damping + damping * lost) / n;
    tobi::transform(loops, rank, inverse_degree, contribution, std::multiplies<>());
    tobi::for_each(how, rank, tobi::mode::write, [=](double& r, std::size_t v) {
      std::uint64_t begin, end;
      {
        auto row = tobi::checkout(rows.subspan(v, 2), tobi::mode::read);
        begin = row[0];
        end = row[1];
      }
      double sum = 0.0;
      tobi::for_each(tobi::seq, tobi::global_span<const std::uint32_t>(sources.subspan(begin, end - begin)),
                     [&](std::uint32_t u) { sum += tobi::load(&contribution[u]); });
      r = base + damping * sum;
    });
  }
  return {graph.edges()};
}

const memory_phase phases[] = {{"build", false, build}, {"iterate", true, iterate}};

// The same numbers from the generator alone, pushed along the edges that go out.
phase_result wrong() {
  const std::uint64_t vertices = graph.vertices();
  const double n = static_cast<double>(vertices);
  std::vector<std::uint64_t> degree(vertices);
  for (std::uint64_t i = 0; i < graph.edges(); ++i) ++degree[from(rmat_edge(graph, i))];
  std::vector<double> now(vertices, 1.0 / n), next(vertices);
  for (std::uint64_t k = 0; k < iterations; ++k) {
    double lost = 0.0;
    for (std::uint64_t v = 0; v < vertices; ++v) lost += degree[v] == 0 ? now[v] : 0.0;
    std::fill(next.begin(), next.end(), 0.0);
    for (std::uint64_t i = 0; i < graph.edges(); ++i) {
      const edge e = rmat_edge(graph, i);
      next[to(e)] += now[from(e)] / static_cast<double>(degree[from(e)]);
    }
    for (double& r : next) r = (1.0 - damping + damping * lost) / n + damping * r;
    std::swap(now, next);
  }
  // Sums in another order: some last digits differ.
  phase_result found;
  double total = 0.0;
  tobi::for_each(tobi::seq, tobi::global_span<const double>(rank), [&](double r, std::size_t v) {
    total += r;
    found.number += std::fabs(r - now[v]) <= 1e-10 * now[v] ? 0 : 1;
  });
  found.number += std::fabs(total - 1.0) <= 1e-9 ? 0 : 1;
  return found;
}

}  // namespace

void pagerank_prepare(const graph_options& asked) {
  graph = {static_cast<unsigned>(asked.scale), asked.degree, asked.seed};
  iterations = asked.iterations;
  loops.where = how.where = affinity_of(asked.where);
  how.cutoff = asked.cutoff != 0 ? asked.cutoff : 128;  // vertices have 16 edges or so
  const tobi::distribution dealt{asked.chunk};
  edges = tobi::allocate_all<edge>(graph.edges(), dealt);
  scratch = tobi::allocate_all<edge>(graph.edges(), dealt);
  rows = tobi::allocate_all<std::uint64_t>(graph.vertices() + 1, dealt);
  sources = tobi::allocate_all<std::uint32_t>(graph.edges(), dealt);
  inverse_degree = tobi::allocate_all<double>(graph.vertices(), dealt);
  rank = tobi::allocate_all<double>(graph.vertices(), dealt);
  contribution = tobi::allocate_all<double>(graph.vertices(), dealt);
}

const memory_program pagerank_program{phases, wrong};

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
