// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "tools/bench/subcommands.hpp"

namespace tobi_bench {

namespace {

constexpr std::uint64_t many = std::uint64_t{1} << 40;

void array_options_of(CLI::App& sub, array_options& o, const char* leaf) {
  sub.add_option("--chunk", o.chunk, "bytes dealt to each worker in turn (default: one equal part each)")
      ->transform(CLI::AsSizeValue(false));
  sub.add_option("--cutoff", o.cutoff, leaf)->check(CLI::Range(std::uint64_t{1}, many));
}

void where_option_of(CLI::App& sub, begin_at& where) {
  const std::map<std::string, begin_at> names{{"automatic", begin_at::automatic},
                                              {"none", begin_at::none},
                                              {"owner", begin_at::owner},
                                              {"owner_computes", begin_at::owner_computes}};
  sub.add_option_function<std::string>(
         "--where", [&where, names](const std::string& name) { where = names.at(name); },
         "where the tasks of a loop begin: anywhere (none), where their data are, from where they may be stolen "
         "(owner) or not (owner_computes), or as the library decides (default: automatic)")
      ->check(CLI::IsMember({"automatic", "none", "owner", "owner_computes"}));
}

void graph_options_of(CLI::App& sub, graph_options& o, const char* leaf) {
  sub.add_option("--scale", o.scale, "the graph has 2 to the power of this vertices")
      ->capture_default_str()
      ->check(CLI::Range(1, 30));
  sub.add_option("--degree", o.degree, "edges per vertex")->capture_default_str()->check(CLI::Range(1, 1024));
  sub.add_option("--seed", o.seed, "of the graph")->capture_default_str();
  array_options_of(sub, o, leaf);
}

void change_option_of(CLI::App& sub, change_by& by) {
  sub.add_option_function<std::string>(
         "--by",
         [&by](const std::string& name) { by = name == "accumulate" ? change_by::accumulate : change_by::checkout; },
         "what changes a number that many tasks change: the one that checks it out, or each where it lies "
         "(default: checkout)")
      ->check(CLI::IsMember({"checkout", "accumulate"}));
}

void add_fmm(CLI::App& app, fmm_options& o) {
  CLI::App* fmm = app.add_subcommand("fmm", "a fast multipole method over bodies in global memory");
  fmm->add_option("--n", o.n, "bodies, such as 1M")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 31));
  const auto shaped = [&o](const std::string& name) {
    o.shape = name == "sphere"    ? particle_shape::sphere
              : name == "plummer" ? particle_shape::plummer
                                  : particle_shape::cube;
  };
  fmm->add_option_function<std::string>(
         "--shape", shaped, "where bodies are: in a cube, on a sphere, or in a cluster of stars (default: cube)")
      ->check(CLI::IsMember({"cube", "sphere", "plummer"}));
  fmm->add_option("--seed", o.seed, "of the bodies")->capture_default_str();
  fmm->add_option("--order", o.order, "terms of the expansions, P")
      ->capture_default_str()
      ->check(CLI::Range(1u, laplace::max_order));
  fmm->add_option("--theta", o.theta,
                  "the sum of the radii of two cells, over their distance, below which expansions are used")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.5));
  fmm->add_option("--ncrit", o.ncrit, "bodies of a leaf")->capture_default_str()->check(CLI::Range(1, 1 << 20));
  fmm->add_option("--nspawn", o.nspawn, "bodies of a cell below which there are no tasks")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 30));
  fmm->add_option("--steps", o.steps, "time steps")->capture_default_str()->check(CLI::Range(1, 100000));
  fmm->add_option("--check", o.check, "bodies that --verify compares with direct summation")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
}

}  // namespace

void add_memory_programs(CLI::App& app, arguments& a, void (*run)(CLI::App&, arguments&)) {
  CLI::App* gups = app.add_subcommand("gups", "random updates of a table in global memory");
  gups->add_option("--n", a.gups.n, "words of the table, a power of two, such as 4M")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, many));
  gups->add_option("--updates", a.gups.updates, "how many (default: four for each word)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, many));
  array_options_of(*gups, a.gups, "updates that a task makes");
  change_option_of(*gups, a.gups.by);

  CLI::App* stream = app.add_subcommand("stream", "copy, scale, add, triad and dot on arrays in global memory");
  stream->add_option("--n", a.stream.n, "elements of an array, such as 10M")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(std::uint64_t{1}, many));
  array_options_of(*stream, a.stream, "elements of a leaf");
  where_option_of(*stream, a.stream.where);

  CLI::App* stencil = app.add_subcommand("stencil", "Jacobi's steps on a square grid in global memory");
  stencil->add_option("--n", a.stencil.n, "rows, and points of a row")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20));
  stencil->add_option("--steps", a.stencil.steps, "how many")->capture_default_str()->check(CLI::Range(1, 1 << 30));
  array_options_of(*stencil, a.stencil, "rows of a leaf");
  where_option_of(*stencil, a.stencil.where);

  CLI::App* histogram = app.add_subcommand("histogram", "degrees of an R-MAT graph in global memory");
  graph_options_of(*histogram, a.graph, "edges of a leaf");
  change_option_of(*histogram, a.graph.by);

  CLI::App* pagerank = app.add_subcommand("pagerank", "PageRank on an R-MAT graph in global memory");
  graph_options_of(*pagerank, a.graph, "vertices of a leaf");
  pagerank->add_option("--iterations", a.graph.iterations, "how many")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  where_option_of(*pagerank, a.graph.where);
  add_fmm(app, a.fmm);
  for (CLI::App* sub : {gups, stream, stencil, histogram, pagerank, app.get_subcommand("fmm")}) run(*sub, a);
}

}  // namespace tobi_bench
