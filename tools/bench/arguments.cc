// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tools/bench/apps/variant.hpp"
#include "tools/bench/memory.hpp"
#include "tools/bench/programs.hpp"
#include "tools/bench/trees.hpp"

namespace tobi_bench {

namespace {

[[noreturn]] void refuse(std::string why) {
  for (char& c : why) c = c == '\n' ? ' ' : c;  // the user's own words may have line ends
  std::fprintf(stderr, "tobi-bench: %s (tobi-bench --help says more)\n", why.c_str());
  std::exit(2);
}

std::string tree_names() {
  std::vector<std::string_view> names;
  for (const named_tree& t : named_trees()) names.push_back(t.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void common_options(CLI::App& app, arguments& a) {
  app.add_option("--workers", a.workers, "processes (default: TOBI_WORKERS, or one per core)")
      ->check(CLI::Range(1, 65535));
  app.add_option("--repeat", a.repeat, "measured runs")->check(CLI::Range(1, 100000));
  app.add_option("--warmup", a.warmup, "runs before them that are not counted")->check(CLI::Range(0, 100000));
  app.add_flag("--json", a.json, "one JSON object a run");
}

void run_options(CLI::App& app, arguments& a) {
  common_options(app, a);
  auto* serial = app.add_flag("--serial", a.serial, "the same source with the runtime elided: one process, no tasks");
  app.add_flag("--verify", a.verify, "compare with the known answer");
  app.add_flag("--progress", a.progress, "a progress line, if standard error is a terminal");
  app.add_flag("--efficiency", a.efficiency, "also run the elision, in turn, and compare")->excludes(serial);
}

void tree_options(CLI::App& app, arguments& a) {
  auto* named = app.add_option("--tree", a.tree_name, "one of " + tree_names());
  const auto own = [&](CLI::Option* o) { named->excludes(o); };
  static int type = 1;
  static int shape = 0;
  tree& t = a.shape;
  own(app.add_option("-t", type, "tree type: 0 binomial, 1 geometric, 2 hybrid, 3 balanced")->check(CLI::Range(0, 3)));
  own(app.add_option("-b", t.b0, "branching factor of the root")->check(CLI::Range(0.0, 1e6)));
  own(app.add_option("-r", t.root_seed, "seed of the root")->check(CLI::Range(0, 2147483647)));
  own(app.add_option("-a", shape, "shape: 0 linear, 1 expdec, 2 cyclic, 3 fixed")->check(CLI::Range(0, 3)));
  own(app.add_option("-d", t.gen_max, "depth that the shape refers to")->check(CLI::Range(1, 100000)));
  own(app.add_option("-q", t.non_leaf_prob, "probability that a binomial node has children")
          ->check(CLI::Range(0.0, 1.0)));
  own(app.add_option("-m", t.non_leaf_children, "children of a binomial node that has some")
          ->check(CLI::Range(0, 100)));
  own(app.add_option("-f", t.shift_depth, "hybrid: share of the depth that is geometric")->check(CLI::Range(0.0, 1.0)));
  own(app.add_option("-g", t.granularity, "hashes per node")->check(CLI::Range(1, 1000000)));
  app.parse_complete_callback([&a] {
    a.shape.type = static_cast<tree_type>(type);
    a.shape.shape = static_cast<tree_shape>(shape);
  });
}

// What is wrong with the command line, in one sentence.
[[noreturn]] void refuse_words(const CLI::App& app, const CLI::App& peers, const CLI::ParseError& e) {
  const std::string text = e.what();
  if (e.get_name() == "RequiredError") {
    const std::vector<std::string> unknown = app.remaining(true);
    const char* choices = peers.parsed() ? "fib, uts"
                                         : "fib, btc, nqueens, uts, pfor, recpfor, lcs, cilksort, uts-mem, gups, "
                                           "stream, histogram, pagerank, frames, "
                                           "fork-cost, space, steal-breakdown, ramp, peers";
    if (unknown.empty() || unknown.front().starts_with('-')) refuse(fmt::format("name a program first: {}", choices));
    refuse(fmt::format("{} is not one of {}", unknown.front(), choices));
  }
  if (e.get_name() == "ArgumentMismatch")
    refuse(fmt::format("{} takes one value, and is given once", text.substr(0, text.find(':'))));
  refuse(text);
}

void check_tree(const tree& t) {
  if (std::isnan(t.b0) || std::isnan(t.non_leaf_prob) || std::isnan(t.shift_depth))
    refuse("-b, -q and -f must be numbers");
  const bool ends_binomial = t.type == tree_type::binomial || t.type == tree_type::hybrid;
  if (ends_binomial && t.non_leaf_prob * t.non_leaf_children >= 1.0)
    refuse("a binomial or hybrid tree with -q times -m of 1 or more does not end");
  if (t.type == tree_type::balanced && std::floor(t.b0) > 1 &&
      t.gen_max * std::log2(std::floor(t.b0)) > 64 - tree_count::depth_bits)
    refuse(fmt::format("a balanced tree with -b {} and -d {} has more leaves than a run can count", t.b0, t.gen_max));
}

// The subcommands share one --n, and the last one's default would be everybody's.
void take_default(const CLI::App& app, const std::string& chosen, const char* name, std::uint64_t& value) {
  const CLI::App* sub = app.get_subcommand(chosen);
  if (!sub->parsed()) return;
  const CLI::Option* option = sub->get_option_no_throw(name);
  if (option == nullptr || option->count() != 0) return;
  const std::string text = option->get_default_str();  // none: the program chooses
  if (!text.empty()) value = std::stoull(text);
}

// Answers that do not fit 64 bits are not computed.
void check_btc(const arguments& a) {
  long double tasks = 1;
  for (std::uint64_t d = 0; d < a.depth; ++d) tasks = tasks * static_cast<long double>(2 * a.iter) + 1;
  if (tasks > 9e18L) refuse("--depth and --iter make more tasks than 64 bits can count");
}

}  // namespace

arguments parse(int argc, char** argv) {
  arguments a;
  CLI::App app("The programs of the uni-address and continuation-stealing papers.", "tobi-bench");
  app.require_subcommand(1);

  auto* fib = app.add_subcommand("fib", "Fibonacci numbers, a task a call");
  fib->add_option("--n", a.n, "which one")->default_val(35)->check(CLI::Range(0, 90));
  auto* btc = app.add_subcommand("btc", "binary task creation");
  btc->add_option("--depth", a.depth, "levels below the root")->default_val(20)->check(CLI::Range(0, 62));
  btc->add_option("--iter", a.iter, "times that each task forks two")->default_val(1)->check(CLI::Range(1, 1000000));
  auto* nqueens = app.add_subcommand("nqueens", "queens on a board, a task a placement");
  nqueens->add_option("--n", a.n, "size of the board")->default_val(12)->check(CLI::Range(1, 20));
  nqueens->add_option("--cutoff", a.cutoff, "search this many rows at the end without tasks")
      ->default_val(0)
      ->check(CLI::Range(0, 20));
  auto* uts = app.add_subcommand("uts", "unbalanced tree search");
  tree_options(*uts, a);
  auto* pfor = app.add_subcommand("pfor", "parallel loops, one after the other");
  auto* recpfor = app.add_subcommand("recpfor", "parallel loops at each level of a recursion");
  for (CLI::App* sub : {pfor, recpfor}) {
    sub->add_option("--n", a.n, "iterations of a loop")->default_val(1024)->check(CLI::Range(1, 1 << 30));
    sub->add_option("--k", a.k, "loops")->default_val(5)->check(CLI::Range(1, 1000000));
    sub->add_option("--m", a.m, "microseconds per iteration")->default_val(10)->check(CLI::Range(0.01, 1e6));
  }
  auto* lcs = app.add_subcommand("lcs", "longest common subsequence, by futures");
  lcs->add_option("--n", a.n, "bytes of each string")->default_val(8192)->check(CLI::Range(1, 1 << 20));
  lcs->add_option("--c", a.c, "side of the blocks that are not split")->default_val(512)->check(CLI::Range(1, 1024));
  auto* cilksort = app.add_subcommand("cilksort", "sort 4-byte integers in global memory");
  const auto count_of = CLI::AsSizeValue(true);  // 10M is ten million
  const auto size_of = CLI::AsSizeValue(false);
  cilksort->add_option("--n", a.n, "elements, such as 10M")
      ->default_val(1'000'000)
      ->transform(count_of)
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  cilksort->add_option("--cutoff", a.cutoff, "elements of a leaf")
      ->default_val(16384)
      ->check(CLI::Range(std::uint64_t{16}, std::uint64_t{1} << 40));
  cilksort->add_option("--chunk", a.chunk, "bytes dealt to each worker in turn (default: one equal part each)")
      ->transform(size_of);
  cilksort
      ->add_option_function<std::string>(
          "--shape",
          [&a](const std::string& name) {
            a.shape_of_sort = name == "original" ? cilksort_shape::original : cilksort_shape::pairs;
          },
          "how it divides")
      ->default_str("pairs")
      ->check(CLI::IsMember({"pairs", "original"}));
  for (CLI::App* sub : {fib, btc, nqueens, uts, pfor, recpfor, lcs, cilksort}) run_options(*sub, a);
  const std::vector<CLI::App*> on_memory = add_memory_programs(app, a);
  for (CLI::App* sub : on_memory) run_options(*sub, a);
  CLI::App* uts_mem = on_memory.front();
  tree_options(*uts_mem, a);

  auto* frames = app.add_subcommand("frames", "fib in frames on the heap, as X10 has them, and in place; in turn");
  frames->add_option("--n", a.n, "which number")->default_val(27)->check(CLI::Range(2, 45));
  auto* fork_cost = app.add_subcommand("fork-cost", "cycles of a fork and its join, on one worker");
  fork_cost->add_option("--n", a.n, "forks")->default_val(1000000)->check(CLI::Range(1000, 1000000000));
  auto* space = app.add_subcommand("space", "stack and address space used, and what iso-address would reserve");
  space->add_option("--iso-stack", a.iso_stack, "bytes of a thread's stack under iso-address")
      ->default_val(16384)
      ->check(CLI::Range(4096, 1 << 30));
  auto* breakdown = app.add_subcommand("steal-breakdown", "what a steal spends its time on, for each deque");
  breakdown->add_option("--n", a.n, "pairs of tasks, one of which is to be stolen")
      ->default_val(20000)
      ->check(CLI::Range(100, 100000000));
  const std::vector<CLI::App*> common_measures{frames, fork_cost, space, breakdown};
  for (CLI::App* sub : common_measures) {
    common_options(*sub, a);
    sub->get_option("--repeat")->description("measured runs (default: 5)");
  }
  std::vector<CLI::App*> measures = common_measures;
  measures.push_back(add_ramp(app, a));

  auto* peers = app.add_subcommand("peers", "the same program on serial, tobi, oneTBB and OpenMP, in turn");
  peers->require_subcommand(1);
  auto* peers_fib = peers->add_subcommand("fib", "Fibonacci numbers");
  peers_fib->add_option("--n", a.n, "which one")->default_val(35)->check(CLI::Range(2, 90));
  auto* peers_uts = peers->add_subcommand("uts", "unbalanced tree search");
  peers_uts->add_option("--tree", a.tree_name, "one of " + tree_names());
  for (CLI::App* sub : {peers_fib, peers_uts}) {
    common_options(*sub, a);
    sub->get_option("--repeat")->description("measured runs of each peer (default: 5)");
    sub->add_option("--only", a.only, "run this peer alone and print its seconds")
        ->check(CLI::IsMember({"serial", "tobi", "onetbb", "openmp"}))
        ->group("");
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    std::exit(app.exit(e));
  } catch (const CLI::ParseError& e) {
    refuse_words(app, *peers, e);
  }

  a.peers = peers->parsed();
  if (a.peers && peers_fib->count("--repeat") + peers_uts->count("--repeat") == 0) a.repeat = 5;
  for (const CLI::App* sub : {fib, btc, nqueens, uts, pfor, recpfor, lcs, cilksort, peers_fib, peers_uts}) {
    if (sub->parsed()) a.app = sub->get_name();
  }
  for (const CLI::App* sub : measures) {
    if (!sub->parsed()) continue;
    a.app = sub->get_name();
    a.measure = true;
    if (sub->count("--repeat") == 0) a.repeat = 5;
  }
  for (const CLI::App* sub : on_memory) {
    if (sub->parsed()) a.app = sub->get_name();
  }
  take_default(app, a.app, "--n", a.n);
  take_default(app, a.app, "--cutoff", a.cutoff);
  const program* what = a.peers || a.measure ? nullptr : find_program(a.app);
  if (what != nullptr ? what->searches_tree : peers_uts->parsed()) {
    const CLI::App* sub = uts_mem->parsed() ? uts_mem : uts;
    const auto given = [sub](const char* flag) { return sub->count(flag) != 0; };
    const bool own_flags = sub->parsed() && a.tree_name.empty() &&
                           (given("-t") || given("-b") || given("-r") || given("-a") || given("-d") || given("-q") ||
                            given("-m") || given("-f") || given("-g"));
    if (!own_flags) {
      if (a.tree_name.empty()) a.tree_name = "T1";
      const named_tree* known = find_tree(a.tree_name);
      if (known == nullptr) refuse("--tree " + a.tree_name + " is not one of " + tree_names());
      a.shape = known->shape;
    } else {
      check_tree(a.shape);
    }
  }
  if (btc->parsed()) check_btc(a);
  if (what != nullptr && what->halves_n && !std::has_single_bit(a.n))
    refuse("--n: " + a.app + " halves it, so it must be a power of two");
  if (what != nullptr && what->on_memory()) {
    if (const std::string wrong = complete_memory_program(a); !wrong.empty()) refuse(wrong);
  }
  return a;
}

}  // namespace tobi_bench
