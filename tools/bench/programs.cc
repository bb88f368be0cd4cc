// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/programs.hpp"

#include <fmt/format.h>

#include <tobi/runtime.hpp>

namespace tobi_bench {

namespace {

using json = nlohmann::ordered_json;

double real(std::uint64_t n) { return static_cast<double>(n); }
answer found(const tree_count& t) { return {t.nodes, t}; }

std::string describe_n(const arguments& a) { return fmt::format("n={}", a.n); }
json params_n(const arguments& a) { return {{"n", a.n}}; }
std::string describe_loop(const arguments& a) { return fmt::format("n={} k={} m={}us", a.n, a.k, a.m); }
json params_loop(const arguments& a) { return {{"n", a.n}, {"k", a.k}, {"m_us", a.m}}; }

const char* name_of(cilksort_shape s) { return s == cilksort_shape::original ? "original" : "pairs"; }

std::string describe_tree(const arguments& a) {
  if (!a.tree_name.empty()) return "tree=" + a.tree_name;
  const tree& t = a.shape;
  return fmt::format("t={} a={} b={} d={} r={} q={} m={} f={} g={}", static_cast<int>(t.type),
                     static_cast<int>(t.shape), t.b0, t.gen_max, t.root_seed, t.non_leaf_prob, t.non_leaf_children,
                     t.shift_depth, t.granularity);
}

json params_tree(const arguments& a) {
  if (!a.tree_name.empty()) return {{"tree", a.tree_name}};
  const tree& t = a.shape;
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

std::string describe_graph(const arguments& a) {
  const memory_sizes& m = a.memory;
  return fmt::format("scale={} degree={} seed={} chunk={}", m.scale, m.degree, m.seed, m.chunk);
}
json params_graph(const arguments& a) {
  const memory_sizes& m = a.memory;
  return {{"scale", m.scale}, {"degree", m.degree}, {"seed", m.seed}, {"cutoff", m.cutoff}, {"chunk", m.chunk}};
}
double edges(const memory_sizes& m) { return real(m.degree) * real(std::uint64_t{1} << m.scale); }

// A root task takes what it needs of the arguments by value.
const program programs[] = {
    {.name = "fib",
     .with_tasks = {.run = [](const arguments& a) -> answer {
       return {tobi::run([n = a.n] { return parallel::fib(n); })};
     }},
     .elided = {.run = [](const arguments& a) -> answer { return {elided::fib(a.n)}; }},
     .describe = describe_n,
     .params = params_n,
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {fib_forks(a.n), "Mforks/s"};
     },
     .right = right_fib},
    {.name = "btc",
     .with_tasks = {.run = [](const arguments& a) -> answer {
       return {tobi::run([depth = a.depth, iter = a.iter] { return parallel::btc(depth, iter); })};
     }},
     .elided = {.run = [](const arguments& a) -> answer { return {elided::btc(a.depth, a.iter)}; }},
     .describe = [](const arguments& a) { return fmt::format("depth={} iter={}", a.depth, a.iter); },
     .params = [](const arguments& a) -> json {
       return {{"depth", a.depth}, {"iter", a.iter}};
     },
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Mtasks/s"};
     },
     .right = right_btc,
     .result = "tasks"},
    {.name = "nqueens",
     .with_tasks = {.run = [](const arguments& a) -> answer {
       return {tobi::run([n = a.n, cutoff = a.cutoff] { return parallel::nqueens(n, cutoff); })};
     }},
     .elided = {.run = [](const arguments& a) -> answer { return {elided::nqueens(a.n, a.cutoff)}; }},
     .describe =
         [](const arguments& a) {
           return a.cutoff == 0 ? describe_n(a) : fmt::format("n={} cutoff={}", a.n, a.cutoff);
         },
     .params = [](const arguments& a) -> json {
       return {{"n", a.n}, {"cutoff", a.cutoff}};
     },
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Msolutions/s"};
     },
     .right = right_nqueens},
    {.name = "uts",
     .with_tasks = {.run = [](const arguments&) { return found(tobi::run([] { return parallel::uts(); })); },
                    .prepare = [](const arguments& a) { parallel::uts_prepare(a.shape); }},
     .elided = {.run = [](const arguments&) { return found(elided::uts()); },
                .prepare = [](const arguments& a) { elided::uts_prepare(a.shape); }},
     .describe = describe_tree,
     .params = params_tree,
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Mnodes/s"};
     },
     .result = "nodes",
     .searches_tree = true},
    {.name = "pfor",
     .with_tasks = {.run = [](const arguments& a) -> answer {
       return {tobi::run([k = a.k, n = a.n, rounds = a.rounds] { return parallel::pfor(k, n, rounds); })};
     }},
     .elided = {.run = [](const arguments& a) -> answer { return {elided::pfor(a.k, a.n, a.rounds)}; }},
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
       return {tobi::run([k = a.k, n = a.n, rounds = a.rounds] { return parallel::recpfor(k, n, rounds); })};
     }},
     .elided = {.run = [](const arguments& a) -> answer { return {elided::recpfor(a.k, a.n, a.rounds)}; }},
     .describe = describe_loop,
     .params = params_loop,
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Mleaves/s"};
     },
     .right = right_recpfor,
     .best = ideal_recpfor,
     .is_loop = true,
     .halves_n = true},
    {.name = "lcs",
     .with_tasks = {.run = [](const arguments&) -> answer { return {tobi::run([] { return parallel::lcs(); })}; },
                    .prepare = [](const arguments& a) { parallel::lcs_prepare(a.n, a.c); }},
     .elided = {.run = [](const arguments&) -> answer { return {elided::lcs()}; },
                .prepare = [](const arguments& a) { elided::lcs_prepare(a.n, a.c); }},
     .describe = [](const arguments& a) { return fmt::format("n={} c={}", a.n, a.c); },
     .params = [](const arguments& a) -> json {
       return {{"n", a.n}, {"c", a.c}};
     },
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {real(a.n) * real(a.n), "Mcells/s"};
     },
     .right = right_lcs,
     .best = ideal_lcs,
     .halves_n = true},
    {.name = "cilksort",
     .with_tasks = {.run = [](const arguments& a) -> answer {
                      tobi::run([shape = a.shape_of_sort, cutoff = a.cutoff] { parallel::cilksort(shape, cutoff); });
                      return {a.n};
                    },
                    .prepare = [](const arguments& a) { parallel::cilksort_prepare(a.n, a.chunk); },
                    .fill = [] { tobi::run([] { parallel::cilksort_fill(); }); },
                    .is_right = [] { return tobi::run([] { return parallel::cilksort_sorted(); }); }},
     .elided = {.run = [](const arguments& a) -> answer {
                  elided::cilksort(a.shape_of_sort, a.cutoff);
                  return {a.n};
                },
                .prepare = [](const arguments& a) { elided::cilksort_prepare(a.n, a.chunk); },
                .fill = elided::cilksort_fill,
                .is_right = elided::cilksort_sorted},
     .describe =
         [](const arguments& a) {
           return fmt::format("n={} cutoff={} chunk={} shape={}", a.n, a.cutoff, a.chunk, name_of(a.shape_of_sort));
         },
     .params = [](const arguments& a) -> json {
       return {{"n", a.n}, {"cutoff", a.cutoff}, {"chunk", a.chunk}, {"shape", name_of(a.shape_of_sort)}};
     },
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Melements/s"};
     },
     .right = right_cilksort,
     .sorts_memory = true},
    {.name = "uts-mem",
     .with_tasks = {.run = nullptr, .phases = &parallel::uts_mem_program},
     .elided = {.run = nullptr, .phases = &elided::uts_mem_program},
     .describe = describe_tree,
     .params = [](const arguments& a) -> json {
       return a.tree_name.empty() ? json{{"shape", describe_tree(a)}} : json{{"tree", a.tree_name}};
     },
     .done = [](const arguments&, const answer& got, std::string_view) -> work {
       return {real(got.result), "Mnodes/s"};
     },
     .searches_tree = true},
    {.name = "gups",
     .with_tasks = {.run = nullptr, .phases = &parallel::gups_program},
     .elided = {.run = nullptr, .phases = &elided::gups_program},
     .describe =
         [](const arguments& a) {
           return fmt::format("n={} updates={} chunk={}", a.memory.n, a.memory.updates, a.memory.chunk);
         },
     .params = [](const arguments& a) -> json {
       const memory_sizes& m = a.memory;
       return {{"n", m.n}, {"updates", m.updates}, {"cutoff", m.cutoff}, {"chunk", m.chunk}};
     },
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {real(a.memory.updates), "Mupdates/s"};
     }},
    {.name = "stream",
     .with_tasks = {.run = nullptr, .phases = &parallel::stream_program},
     .elided = {.run = nullptr, .phases = &elided::stream_program},
     .describe = [](const arguments& a) { return fmt::format("n={} chunk={}", a.memory.n, a.memory.chunk); },
     .params = [](const arguments& a) -> json {
       return {{"n", a.memory.n}, {"cutoff", a.memory.cutoff}, {"chunk", a.memory.chunk}};
     },
     .done = [](const arguments& a, const answer&, std::string_view phase) -> work {
       const double arrays = phase == "add" || phase == "triad" ? 3 : 2;
       return {arrays * sizeof(double) * real(a.memory.n) / 1e3, "GB/s"};  // of thousands: the amount is in millions
     }},
    {.name = "histogram",
     .with_tasks = {.run = nullptr, .phases = &parallel::histogram_program},
     .elided = {.run = nullptr, .phases = &elided::histogram_program},
     .describe = describe_graph,
     .params = params_graph,
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {edges(a.memory), "Medges/s"};
     }},
    {.name = "pagerank",
     .with_tasks = {.run = nullptr, .phases = &parallel::pagerank_program},
     .elided = {.run = nullptr, .phases = &elided::pagerank_program},
     .describe =
         [](const arguments& a) { return describe_graph(a) + fmt::format(" iterations={}", a.memory.iterations); },
     .params =
         [](const arguments& a) {
           json graph = params_graph(a);
           graph["iterations"] = a.memory.iterations;
           return graph;
         },
     .done = [](const arguments& a, const answer&, std::string_view) -> work {
       return {edges(a.memory) * real(a.memory.iterations), "Medges/s"};
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
