// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <cmath>
#include <vector>

#include "tools/bench/apps/variant.hpp"
#include "tools/bench/collection_runs.hpp"
#include "tools/bench/hf/hf.hpp"
#include "tools/bench/programs.hpp"
#include "tools/bench/subcommands.hpp"
#include "tools/bench/tce/tce.hpp"
#include "tools/bench/trees.hpp"
#include "tools/command_line.hpp"

namespace tobi_bench {

namespace {

[[noreturn]] void refuse(const std::string& why) { tobi_tools::refuse("tobi-bench", why); }

std::string tree_names() {
  std::vector<std::string_view> names;
  for (const named_tree& t : named_trees()) names.push_back(t.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void warmup_option(CLI::App& sub, arguments& a) {
  sub.add_option("--warmup", a.warmup, "runs before them that are not counted")->check(CLI::Range(0, 100000));
}

void run_options(CLI::App& sub, arguments& a) {
  common_options(sub, a, "measured runs (default: 1)");
  warmup_option(sub, a);
  auto* serial = sub.add_flag("--serial", a.serial, "the same source with the runtime elided: one process, no tasks");
  sub.add_flag("--verify", a.verify, "compare with the known answer");
  sub.add_flag("--progress", a.progress, "a progress line, if standard error is a terminal");
  sub.add_flag("--efficiency", a.efficiency, "also run the elision, in turn, and compare")->excludes(serial);
}

void named_tree_option(CLI::App& sub, tree_options& o) { sub.add_option("--tree", o.name, "one of " + tree_names()); }

// The name, or the tree's own flags, of which each takes the name away.
void tree_options_of(CLI::App& sub, tree_options& o) {
  named_tree_option(sub, o);
  CLI::Option* named = sub.get_option("--tree");
  const auto own = [&](const char* flag, auto& value, const char* what, const CLI::Range& good) {
    sub.add_option(flag, value, what)->check(good)->excludes(named)->each([&o](const std::string&) { o.name.clear(); });
  };
  tree& t = o.shape;
  own("-t", t.type, "tree type: 0 binomial, 1 geometric, 2 hybrid, 3 balanced", CLI::Range(0, 3));
  own("-b", t.b0, "branching factor of the root", CLI::Range(0.0, 1e6));
  own("-r", t.root_seed, "seed of the root", CLI::Range(0, 2147483647));
  own("-a", t.shape, "shape: 0 linear, 1 expdec, 2 cyclic, 3 fixed", CLI::Range(0, 3));
  own("-d", t.gen_max, "depth that the shape refers to", CLI::Range(1, 100000));
  own("-q", t.non_leaf_prob, "probability that a binomial node has children", CLI::Range(0.0, 1.0));
  own("-m", t.non_leaf_children, "children of a binomial node that has some", CLI::Range(0, 100));
  own("-f", t.shift_depth, "hybrid: share of the depth that is geometric", CLI::Range(0.0, 1.0));
  own("-g", t.granularity, "hashes per node", CLI::Range(1, 1000000));
}

std::string names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

// What is wrong with the command line, in one sentence.
std::string what_is_wrong(const CLI::App& app, const CLI::App& peers, const CLI::ParseError& e) {
  if (e.get_name() != "RequiredError") return tobi_tools::sentence_of(e);
  const std::vector<std::string> unknown = app.remaining(true);
  const std::string choices = names_of(peers.parsed() ? peers : app);
  if (unknown.empty() || unknown.front().starts_with('-')) return "name a program first: " + choices;
  return fmt::format("{} is not one of {}", unknown.front(), choices);
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

// A tree by its name, or one that ends.
void complete_tree(tree_options& o) {
  if (o.name.empty()) {
    check_tree(o.shape);
    return;
  }
  const named_tree* known = find_tree(o.name);
  if (known == nullptr) refuse("--tree " + o.name + " is not one of " + tree_names());
  o.shape = known->shape;
}

// Results that do not fit 64 bits are not computed.
void check_btc(const btc_options& o) {
  long double tasks = 1;
  for (std::uint64_t d = 0; d < o.depth; ++d) tasks = tasks * static_cast<long double>(2 * o.iter) + 1;
  if (tasks > 9e18L) refuse("--depth and --iter make more tasks than 64 bits can count");
}

// Each worker notes what it has executed, and all of them what each task was found to be.
void check_tasks(std::uint64_t tasks, const char* options) {
  constexpr std::uint64_t most = 20'000'000;
  if (tasks > most) refuse(fmt::format("{} make {} tasks; {} can be kept count of", options, tasks, most));
}

void complete_hf(hf_options& o, bool verify) {
  if (std::isnan(o.threshold)) refuse("--threshold: nan is no number");
  const bool beryllium = o.molecule == "be";
  if (o.basis.empty()) o.basis = beryllium ? "6-31g" : "sto-3g";
  if (!beryllium && o.basis != "sto-3g") refuse("--basis 6-31g is for --molecule be alone; choose sto-3g");
  check_tasks(hf_tasks(o), "--atoms and --tile");
  constexpr std::uint64_t most = 200'000'000;
  const std::uint64_t kept = verify ? hf_reference_integrals(o) : 0;
  if (kept > most) {
    refuse(fmt::format("--verify: a serial program would keep {} integrals, and {} at most; choose fewer --atoms", kept,
                       most));
  }
}

void complete_tce(const tce_options& o) {
  for (const auto* sizes : {&o.blocks, &o.inner}) {
    const std::size_t values = std::accumulate(sizes->begin(), sizes->end(), std::size_t{0});
    if (values > tce_values_most) {
      refuse(fmt::format("--blocks and --inner: an index has {} values; {} is the most", values, tce_values_most));
    }
  }
  check_tasks(tce_tasks(o), "--blocks, --inner and --tile");
  if (const std::string why = load_tce(); !why.empty()) refuse(why);
}

void complete_collection(arguments& a) {
  if (a.app == "hf") complete_hf(a.hf, a.verify);
  if (a.app == "tce") complete_tce(a.tce);
}

// What needs more than one option to be checked, or is chosen by another one.
void complete(arguments& a, const CLI::App& chosen) {
  const bool runs_once = a.what == arguments::kind::program || a.what == arguments::kind::collection;
  if (a.repeat == 0) a.repeat = runs_once ? 1 : 5;
  if (a.what == arguments::kind::collection) complete_collection(a);
  if (chosen.get_option_no_throw("--tree") != nullptr) complete_tree(a.tree);
  if (a.what != arguments::kind::program) return;
  if (a.app == "btc") check_btc(a.btc);
  if (std::isnan(a.fmm.theta)) refuse("--theta: nan is no number");
  const auto is_halved = [&](std::uint64_t n) {
    if (!std::has_single_bit(n)) refuse("--n: " + a.app + " halves it, so it must be a power of two");
  };
  if (a.app == "recpfor") is_halved(a.loop.n);
  if (a.app == "lcs") is_halved(a.lcs.n);
  if (!std::has_single_bit(a.gups.n)) refuse(fmt::format("--n: {} words are no power of two", a.gups.n));
  if (a.gups.updates == 0) a.gups.updates = 4 * a.gups.n;
}

void add_programs(CLI::App& app, arguments& a) {
  auto* fib = app.add_subcommand("fib", "Fibonacci numbers, a task per call");
  fib->add_option("--n", a.fib.n, "which one")->capture_default_str()->check(CLI::Range(0, 90));
  auto* btc = app.add_subcommand("btc", "binary task creation");
  btc->add_option("--depth", a.btc.depth, "levels below the root")->capture_default_str()->check(CLI::Range(0, 62));
  btc->add_option("--iter", a.btc.iter, "times that each task forks two")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  auto* nqueens = app.add_subcommand("nqueens", "queens on a board, a task per placement");
  nqueens->add_option("--n", a.nqueens.n, "size of the board")->capture_default_str()->check(CLI::Range(1, 20));
  nqueens->add_option("--cutoff", a.nqueens.cutoff, "search this many rows at the end without tasks")
      ->capture_default_str()
      ->check(CLI::Range(0, 20));
  auto* uts = app.add_subcommand("uts", "unbalanced tree search");
  tree_options_of(*uts, a.tree);
  auto* pfor = app.add_subcommand("pfor", "parallel loops, one after the other");
  auto* recpfor = app.add_subcommand("recpfor", "parallel loops at each level of a recursion");
  for (CLI::App* sub : {pfor, recpfor}) {
    sub->add_option("--n", a.loop.n, "iterations of a loop")->capture_default_str()->check(CLI::Range(1, 1 << 30));
    sub->add_option("--k", a.loop.k, "loops")->capture_default_str()->check(CLI::Range(1, 1000000));
    sub->add_option("--m", a.loop.m, "microseconds per iteration")->capture_default_str()->check(CLI::Range(0.01, 1e6));
    sub->add_flag("--sleep", a.loop.sleeps, "iterations sleep, so that many workers can share a few cores");
  }
  auto* lcs = app.add_subcommand("lcs", "longest common subsequence, by futures");
  lcs->add_option("--n", a.lcs.n, "bytes of each string")->capture_default_str()->check(CLI::Range(1, 1 << 20));
  lcs->add_option("--c", a.lcs.c, "side of the blocks that are not split")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  auto* cilksort = app.add_subcommand("cilksort", "sort 4-byte integers in global memory");
  constexpr std::uint64_t many = std::uint64_t{1} << 40;
  cilksort->add_option("--n", a.cilksort.n, "elements, such as 10M")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(true))  // 10M is ten million
      ->check(CLI::Range(std::uint64_t{1}, many));
  cilksort->add_option("--cutoff", a.cilksort.cutoff, "elements of a leaf")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{16}, many));
  cilksort->add_option("--chunk", a.cilksort.chunk, "bytes dealt to each worker in turn (default: one equal part each)")
      ->transform(CLI::AsSizeValue(false));
  cilksort
      ->add_option_function<std::string>(
          "--shape",
          [&a](const std::string& name) {
            a.cilksort.shape = name == "original" ? cilksort_shape::original : cilksort_shape::pairs;
          },
          "how it divides")
      ->default_str("pairs")
      ->check(CLI::IsMember({"pairs", "original"}));
  auto* uts_mem = app.add_subcommand("uts-mem", "unbalanced tree in global memory: built, traversed, freed");
  tree_options_of(*uts_mem, a.tree);
  for (CLI::App* sub : {fib, btc, nqueens, uts, pfor, recpfor, lcs, cilksort, uts_mem}) run_options(*sub, a);
  add_memory_programs(app, a, run_options);
}

void add_measures(CLI::App& app, arguments& a) {
  auto* frames = app.add_subcommand("frames", "fib in frames on the heap, as X10 has them, and in place; in turn");
  frames->add_option("--n", a.frames.n, "which number")->capture_default_str()->check(CLI::Range(2, 45));
  auto* fork_cost = app.add_subcommand("fork-cost", "cycles of a fork and its join, on one worker");
  fork_cost->add_option("--n", a.fork_cost.forks, "forks")->capture_default_str()->check(CLI::Range(1000, 1000000000));
  auto* space = app.add_subcommand("space", "stack and address space used, and what iso-address would reserve");
  space->add_option("--iso-stack", a.space.iso_stack, "bytes of a thread's stack under iso-address")
      ->capture_default_str()
      ->check(CLI::Range(4096, 1 << 30));
  auto* breakdown = app.add_subcommand("steal-breakdown", "what a steal spends its time on, for each deque");
  breakdown->add_option("--n", a.breakdown.pairs, "pairs of tasks, one of which is to be stolen")
      ->capture_default_str()
      ->check(CLI::Range(100, 100000000));
  for (CLI::App* sub : {frames, fork_cost, space, breakdown}) {
    common_options(*sub, a, "measured runs (default: 5)");
    warmup_option(*sub, a);
  }
  add_ramp(app, a);
  add_lb_synthetic(app, a);
}

CLI::App& add_peers(CLI::App& app, arguments& a) {
  auto* peers = app.add_subcommand("peers", "the same program on serial, tobi, oneTBB and OpenMP, in turn");
  peers->require_subcommand(1);
  auto* fib = peers->add_subcommand("fib", "Fibonacci numbers");
  fib->add_option("--n", a.fib.n, "which one")->capture_default_str()->check(CLI::Range(2, 90));
  auto* uts = peers->add_subcommand("uts", "unbalanced tree search");
  named_tree_option(*uts, a.tree);
  for (CLI::App* sub : {fib, uts}) {
    common_options(*sub, a, "measured runs of each peer (default: 5)");
    warmup_option(*sub, a);
    sub->add_option("--only", a.peers.only, "run this peer alone and print its seconds")
        ->check(CLI::IsMember({"serial", "tobi", "onetbb", "openmp"}))
        ->group("");
  }
  return *peers;
}

}  // namespace

void common_options(CLI::App& sub, arguments& a, const std::string& repeat, const std::string& line) {
  sub.add_option("--workers", a.workers, "processes (default: TOBI_WORKERS, or one per core)")
      ->check(CLI::Range(1, 65535));
  sub.add_option("--repeat", a.repeat, repeat)->check(CLI::Range(1, 100000));
  sub.add_flag("--json", a.json, "one JSON object per " + line);
}

arguments parse(int argc, char** argv) {
  arguments a;
  CLI::App app("The programs of the uni-address and continuation-stealing papers.", "tobi-bench");
  app.require_subcommand(1);
  add_programs(app, a);
  add_hf(app, a);
  add_tce(app, a);
  add_measures(app, a);
  const CLI::App& peers = add_peers(app, a);
  tobi_tools::parse(app, argc, argv, [&](const CLI::ParseError& e) { return what_is_wrong(app, peers, e); });
  const CLI::App& chosen = *(peers.parsed() ? peers : app).get_subcommands().front();
  a.app = chosen.get_name();
  a.what = peers.parsed()                      ? arguments::kind::peers
           : find_collection(a.app) != nullptr ? arguments::kind::collection
           : find_program(a.app) != nullptr    ? arguments::kind::program
                                               : arguments::kind::measure;
  complete(a, chosen);
  return a;
}

}  // namespace tobi_bench
