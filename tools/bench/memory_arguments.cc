// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>

#include "tools/bench/arguments.hpp"
#include "tools/bench/memory.hpp"

namespace tobi_bench {

namespace {

CLI::App* add(CLI::App& app, arguments& a, const char* name, const char* what) {
  CLI::App* sub = app.add_subcommand(name, what);
  sub->add_option("--chunk", a.memory.chunk, "bytes dealt to each worker in turn (default: one equal part each)")
      ->transform(CLI::AsSizeValue(false));
  return sub;
}

void cutoff_option(CLI::App* sub, arguments& a, const char* what) {
  sub->add_option("--cutoff", a.memory.cutoff, what)->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
}

void graph_options(CLI::App* sub, arguments& a) {
  sub->add_option("--scale", a.memory.scale, "the graph has 2 to the power of this vertices (default: 16)")
      ->check(CLI::Range(1, 30));
  sub->add_option("--degree", a.memory.degree, "edges per vertex (default: 16)")->check(CLI::Range(1, 1024));
  sub->add_option("--seed", a.memory.seed, "of the graph (default: 1)");
}

}  // namespace

std::vector<CLI::App*> add_memory_programs(CLI::App& app, arguments& a) {
  CLI::App* tree = app.add_subcommand("uts-mem", "unbalanced tree in global memory: built, traversed, freed");

  CLI::App* gups = add(app, a, "gups", "random updates of a table in global memory");
  gups->add_option("--n", a.memory.n, "words of the table, a power of two, such as 4M")
      ->default_str("1048576")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  gups->add_option("--updates", a.memory.updates, "how many (default: four for each word)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  cutoff_option(gups, a, "updates that a task makes");

  CLI::App* stream = add(app, a, "stream", "copy, scale, add and triad on arrays in global memory");
  stream->add_option("--n", a.memory.n, "elements of an array, such as 10M")
      ->default_str("2000000")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  cutoff_option(stream, a, "elements of a leaf");

  CLI::App* histogram = add(app, a, "histogram", "degrees of an R-MAT graph in global memory");
  graph_options(histogram, a);
  cutoff_option(histogram, a, "edges of a leaf of the sort");

  CLI::App* pagerank = add(app, a, "pagerank", "PageRank on an R-MAT graph in global memory");
  graph_options(pagerank, a);
  pagerank->add_option("--iterations", a.memory.iterations, "how many (default: 10)")->check(CLI::Range(1, 100000));
  cutoff_option(pagerank, a, "vertices of a leaf");
  return {tree, gups, stream, histogram, pagerank};
}

std::string complete_memory_program(arguments& a) {
  memory_sizes& m = a.memory;
  m.shape = a.shape;
  if (a.app == "gups") {
    if (m.n == 0) m.n = std::uint64_t{1} << 20;
    if (!std::has_single_bit(m.n)) return fmt::format("--n: {} words are no power of two", m.n);
    if (m.updates == 0) m.updates = 4 * m.n;
  }
  if (a.app == "stream" && m.n == 0) m.n = 2'000'000;
  if (m.scale == 0) m.scale = 16;
  if (m.degree == 0) m.degree = 16;
  if (m.seed == 0) m.seed = 1;
  if (m.iterations == 0) m.iterations = 10;
  return "";
}

}  // namespace tobi_bench
