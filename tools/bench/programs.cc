// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/programs.hpp"

#include <fmt/format.h>

#include <tobi/runtime.hpp>

namespace tobi_bench {

namespace {

using json = nlohmann::ordered_json;

double real(std::uint64_t n) { return static_cast<double>(n); }
answer found(const tree_count& t) { return {t.nodes, t}; }

std::string describe_loop(const arguments& a) {
  return fmt::format("n={} k={} m={}us{}", a.loop.n, a.loop.k, a.loop.m, a.loop.sleeps ? " asleep" : "");
}
json params_loop(const arguments& a) {
  json params{{"n", a.loop.n}, {"k", a.loop.k}, {"m_us", a.loop.m}};
  if (a.loop.sleeps) params["sleep"] = true;
  return params;
}

const char* name_of(change_by by) { return by == change_by::accumulate ? "accumulate" : "checkout"; }
const char* name_of(cilksort_shape s) { return s == cilksort_shape::original ? "original" : "pairs"; }

std::string describe_tree(const arguments& a) {
  if (!a.tree.name.empty()) return "tree=" + a.tree.name;
  const tree& t = a.tree.shape;
  return fmt::format("t={} a={} b={} d={} r={} q={} m={} f={} g={}", static_cast<int>(t.type),
                     static_cast<int>(t.shape), t.b0, t.gen_max, t.root_seed, t.non_leaf_prob, t.non_leaf_children,
                     t.shift_depth, t.granularity);
}

json params_tree(const arguments& a) {
  if (!a.tree.name.empty()) return {{"tree", a.tree.name}};
  const tree& t = a.tree.shape;
  return {{"t", static_cast<int>(t.type)},
          {"a", static_cast<int>(t.shape)},
          {"b", t.b0},
          {"d", t.gen_max},
          {"r", t.root_seed},
          {"q", t.non_leaf_prob},
          {"m", t.non_leaf_children},
          {"f", t.shift_depth},
          {"g", t.granularity}};
}

const char* name_of(begin_at where) {
  switch (where) {
    case begin_at::none:
      return "none";
    case begin_at::owner:
      return "owner";
    case begin_at::owner_computes:
      return "owner_computes";
    case begin_at::automatic:
      break;
  }
  return "automatic";
}
std::string describe_graph(const arguments& a) {
  const graph_options& m = a.graph;
  return fmt::format("scale={} degree={} seed={} chunk={}", m.scale, m.degree, m.seed, m.chunk);
}
json params_graph(const arguments& a) {
  const graph_options& m = a.graph;
  return {{"scale", m.scale}, {"degree", m.degree}, {"seed", m.seed}, {"cutoff", m.cutoff}, {"chunk", m.chunk}};
}
double edges(const graph_options& m) { return real(m.degree) * real(std::uint64_t{1} << m.scale); }

const char* name_of(particle_shape s) {
  switch (s) {
    case particle_shape::sphere:
      return "sphere";
    case particle_shape::plummer:
      return "plummer";
    case particle_shape::cube:
      break;
  }
  return "cube";
}
std::string describe_fmm(const arguments& a) {
  const fmm_options& m = a.fmm;
  return fmt::format("n={} shape={} order={} theta={} steps={}", m.n, name_of(m.shape), m.order, m.theta, m.steps);
}
json params_fmm(const arguments& a) {
  const fmm_options& m = a.fmm;
  return {{"n", m.n},         {"shape", name_of(m.shape)}, {"seed", m.seed},   {"order", m.order}, {"theta", m.theta},
          {"ncrit", m.ncrit}, {"nspawn", m.nspawn},        {"steps", m.steps}, {"check", m.check}};
}

// A root task takes what it needs of the arguments by value.
const program programs[] = {
    {.name = "fib",
     .with_tasks = {.run = [](const arguments& a) -> answer {
       return {tobi::run([n = a.fib.n] { return parallel::fib(n); })};
     }},
     .elided = {.run = [](const arguments& a) -> answer { return {elided::fib(a.fib.n)}; }},
     .describe = [](const arguments& a) { return fmt::format("n={}", a.fib.n); },
     .params = [](const arguments& a) -> json {
       return {{"n", a.fib.n}};
     },
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {fib_forks(a.fib.n), "Mforks/s"};
     },
     .right = right_fib},
    {.name = "btc",
     .with_tasks = {.run = [](const arguments& a) -> answer {
       return {tobi::run([depth = a.btc.depth, iter = a.btc.iter] { return parallel::btc(depth, iter); })};
     }},
     .elided = {.run = [](const arguments& a) -> answer { return {elided::btc(a.btc.depth, a.btc.iter)}; }},
     .describe = [](const arguments& a) { return fmt::format("depth={} iter={}", a.btc.depth, a.btc.iter); },
     .params = [](const arguments& a) -> json {
       return {{"depth", a.btc.depth}, {"iter", a.btc.iter}};
     },
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Mtasks/s"};
     },
     .right = right_btc,
     .result = "tasks"},
    {.name = "nqueens",
     .with_tasks = {.run = [](const arguments& a) -> answer {
       return {tobi::run([n = a.nqueens.n, cutoff = a.nqueens.cutoff] { return parallel::nqueens(n, cutoff); })};
     }},
     .elided = {.run = [](const arguments& a) -> answer { return {elided::nqueens(a.nqueens.n, a.nqueens.cutoff)}; }},
     .describe =
         [](const arguments& a) {
           const auto& [n, cutoff] = a.nqueens;
           return cutoff == 0 ? fmt::format("n={}", n) : fmt::format("n={} cutoff={}", n, cutoff);
         },
     .params = [](const arguments& a) -> json {
       return {{"n", a.nqueens.n}, {"cutoff", a.nqueens.cutoff}};
     },
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Msolutions/s"};
     },
     .right = right_nqueens},
    {.name = "uts",
     .with_tasks = {.run = [](const arguments&) { return found(tobi::run([] { return parallel::uts(); })); },
                    .prepare = [](const arguments& a) { parallel::uts_prepare(a.tree.shape); }},
     .elided = {.run = [](const arguments&) { return found(elided::uts()); },
                .prepare = [](const arguments& a) { elided::uts_prepare(a.tree.shape); }},
     .describe = describe_tree,
     .params = params_tree,
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Mnodes/s"};
     },
     .result = "nodes",
     .searches_tree = true},
    {.name = "pfor",
     .with_tasks = {.run = [](const arguments& a) -> answer {
       return {tobi::run([k = a.loop.k, n = a.loop.n, one = a.loop.one] { return parallel::pfor(k, n, one); })};
     }},
     .elided = {.run = [](const arguments& a) -> answer { return {elided::pfor(a.loop.k, a.loop.n, a.loop.one)}; }},
     .describe = describe_loop,
     .params = params_loop,
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Mleaves/s"};
     },
     .right = right_pfor,
     .best = ideal_pfor,
     .is_loop = true},
    {.name = "recpfor",
     .with_tasks = {.run = [](const arguments& a) -> answer {
       return {tobi::run([k = a.loop.k, n = a.loop.n, one = a.loop.one] { return parallel::recpfor(k, n, one); })};
     }},
     .elided = {.run = [](const arguments& a) -> answer { return {elided::recpfor(a.loop.k, a.loop.n, a.loop.one)}; }},
     .describe = describe_loop,
     .params = params_loop,
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Mleaves/s"};
     },
     .right = right_recpfor,
     .best = ideal_recpfor,
     .is_loop = true},
    {.name = "lcs",
     .with_tasks = {.run = [](const arguments&) -> answer { return {tobi::run([] { return parallel::lcs(); })}; },
                    .prepare = [](const arguments& a) { parallel::lcs_prepare(a.lcs.n, a.lcs.c); }},
     .elided = {.run = [](const arguments&) -> answer { return {elided::lcs()}; },
                .prepare = [](const arguments& a) { elided::lcs_prepare(a.lcs.n, a.lcs.c); }},
     .describe = [](const arguments& a) { return fmt::format("n={} c={}", a.lcs.n, a.lcs.c); },
     .params = [](const arguments& a) -> json {
       return {{"n", a.lcs.n}, {"c", a.lcs.c}};
     },
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {real(a.lcs.n) * real(a.lcs.n), "Mcells/s"};
     },
     .right = right_lcs,
     .best = ideal_lcs},
    {.name = "cilksort",
     .with_tasks = {.run = [](const arguments& a) -> answer {
                      tobi::run([o = a.cilksort] { parallel::cilksort(o.shape, o.cutoff); });
                      return {a.cilksort.n};
                    },
                    .prepare = [](const arguments& a) { parallel::cilksort_prepare(a.cilksort.n, a.cilksort.chunk); },
                    .fill = [] { tobi::run([] { parallel::cilksort_fill(); }); },
                    .is_right = [] { return tobi::run([] { return parallel::cilksort_sorted(); }); }},
     .elided = {.run = [](const arguments& a) -> answer {
                  elided::cilksort(a.cilksort.shape, a.cilksort.cutoff);
                  return {a.cilksort.n};
                },
                .prepare = [](const arguments& a) { elided::cilksort_prepare(a.cilksort.n, a.cilksort.chunk); },
                .fill = elided::cilksort_fill,
                .is_right = elided::cilksort_sorted},
     .describe =
         [](const arguments& a) {
           return fmt::format("n={} cutoff={} chunk={} shape={}", a.cilksort.n, a.cilksort.cutoff, a.cilksort.chunk,
                              name_of(a.cilksort.shape));
         },
     .params = [](const arguments& a) -> json {
       return {{"n", a.cilksort.n},
               {"cutoff", a.cilksort.cutoff},
               {"chunk", a.cilksort.chunk},
               {"shape", name_of(a.cilksort.shape)}};
     },
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Melements/s"};
     },
     .right = right_cilksort,
     .sorts_memory = true},
    {.name = "uts-mem",
     .with_tasks = {.run = nullptr,
                    .prepare = [](const arguments& a) { parallel::uts_mem_prepare(a.tree.shape); },
                    .phases = &parallel::uts_mem_program},
     .elided = {.run = nullptr,
                .prepare = [](const arguments& a) { elided::uts_mem_prepare(a.tree.shape); },
                .phases = &elided::uts_mem_program},
     .describe = describe_tree,
     .params = [](const arguments& a) -> json {
       return a.tree.name.empty() ? json{{"shape", describe_tree(a)}} : json{{"tree", a.tree.name}};
     },
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Mnodes/s"};
     },
     .searches_tree = true},
    {.name = "gups",
     .with_tasks = {.run = nullptr,
                    .prepare = [](const arguments& a) { parallel::gups_prepare(a.gups); },
                    .phases = &parallel::gups_program},
     .elided = {.run = nullptr,
                .prepare = [](const arguments& a) { elided::gups_prepare(a.gups); },
                .phases = &elided::gups_program},
     .describe =
         [](const arguments& a) {
           return fmt::format("n={} updates={} chunk={} by={}", a.gups.n, a.gups.updates, a.gups.chunk,
                              name_of(a.gups.by));
         },
     .params = [](const arguments& a) -> json {
       const gups_options& m = a.gups;
       return {{"n", m.n}, {"updates", m.updates}, {"cutoff", m.cutoff}, {"chunk", m.chunk}, {"by", name_of(m.by)}};
     },
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {real(a.gups.updates), "Mupdates/s"};
     }},
    {.name = "stream",
     .with_tasks = {.run = nullptr,
                    .prepare = [](const arguments& a) { parallel::stream_prepare(a.stream); },
                    .phases = &parallel::stream_program},
     .elided = {.run = nullptr,
                .prepare = [](const arguments& a) { elided::stream_prepare(a.stream); },
                .phases = &elided::stream_program},
     .describe =
         [](const arguments& a) {
           return fmt::format("n={} chunk={} where={}", a.stream.n, a.stream.chunk, name_of(a.stream.where));
         },
     .params = [](const arguments& a) -> json {
       return {{"n", a.stream.n},
               {"cutoff", a.stream.cutoff},
               {"chunk", a.stream.chunk},
               {"where", name_of(a.stream.where)}};
     },
     .done = [](const arguments& a, const answer&, std::string_view phase) -> work {
       const double arrays = phase == "add" || phase == "triad" ? 3 : 2;
       return {arrays * sizeof(double) * real(a.stream.n) / 1e3, "GB/s"};  // of thousands: the amount is in millions
     }},
    {.name = "stencil",
     .with_tasks = {.run = nullptr,
                    .prepare = [](const arguments& a) { parallel::stencil_prepare(a.stencil); },
                    .phases = &parallel::stencil_program},
     .elided = {.run = nullptr,
                .prepare = [](const arguments& a) { elided::stencil_prepare(a.stencil); },
                .phases = &elided::stencil_program},
     .describe =
         [](const arguments& a) {
           const stencil_options& m = a.stencil;
           return fmt::format("n={} steps={} chunk={} where={}", m.n, m.steps, m.chunk, name_of(m.where));
         },
     .params = [](const arguments& a) -> json {
       const stencil_options& m = a.stencil;
       return {{"n", m.n}, {"steps", m.steps}, {"cutoff", m.cutoff}, {"chunk", m.chunk}, {"where", name_of(m.where)}};
     },
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {real(a.stencil.n) * real(a.stencil.n) * real(a.stencil.steps), "Mpoints/s"};
     }},
    {.name = "histogram",
     .with_tasks = {.run = nullptr,
                    .prepare = [](const arguments& a) { parallel::histogram_prepare(a.graph); },
                    .phases = &parallel::histogram_program},
     .elided = {.run = nullptr,
                .prepare = [](const arguments& a) { elided::histogram_prepare(a.graph); },
                .phases = &elided::histogram_program},
     .describe = [](const arguments& a) { return describe_graph(a) + fmt::format(" by={}", name_of(a.graph.by)); },
     .params =
         [](const arguments& a) {
           json graph = params_graph(a);
           graph["by"] = name_of(a.graph.by);
           return graph;
         },
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {edges(a.graph), "Medges/s"};
     }},
    {.name = "pagerank",
     .with_tasks = {.run = nullptr,
                    .prepare = [](const arguments& a) { parallel::pagerank_prepare(a.graph); },
                    .phases = &parallel::pagerank_program},
     .elided = {.run = nullptr,
                .prepare = [](const arguments& a) { elided::pagerank_prepare(a.graph); },
                .phases = &elided::pagerank_program},
     .describe =
         [](const arguments& a) {
           return describe_graph(a) +
                  fmt::format(" iterations={} where={}", a.graph.iterations, name_of(a.graph.where));
         },
     .params =
         [](const arguments& a) {
           json graph = params_graph(a);
           graph["iterations"] = a.graph.iterations;
           graph["where"] = name_of(a.graph.where);
           return graph;
         },
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {edges(a.graph) * real(a.graph.iterations), "Medges/s"};
     }},
    {.name = "fmm",
     .with_tasks = {.run = nullptr,
                    .prepare = [](const arguments& a) { parallel::fmm_prepare(a.fmm); },
                    .phases = &parallel::fmm_program},
     .elided = {.run = nullptr,
                .prepare = [](const arguments& a) { elided::fmm_prepare(a.fmm); },
                .phases = &elided::fmm_program},
     .describe = describe_fmm,
     .params = params_fmm,
     .done = [](const arguments& a, const answer&, std::string_view phase) -> work {
       return {real(a.fmm.n) * (phase == "steps" ? real(a.fmm.steps - 1) : 1), "Mbodies/s"};
     }},
};

}  // namespace

const program* find_program(std::string_view name) {
  for (const program& p : programs) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

const program& program_of(const arguments& a) { return *find_program(a.app); }

std::string describe(const arguments& a) { return program_of(a).describe(a); }

}  // namespace tobi_bench
