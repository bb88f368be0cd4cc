#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <tobi/runtime.hpp>
#include <vector>

#include "tools/bench/apps/variant.hpp"
#include "tools/bench/arguments.hpp"
#include "tools/bench/deep_stack.hpp"
#include "tools/bench/memory.hpp"
#include "tools/bench/progress.hpp"
#include "tools/bench/run.hpp"
#include "tools/bench/trees.hpp"

namespace tobi_bench {

namespace {

struct both_variants {
  const memory_program& with_tasks;
  const memory_program& serial;
};

both_variants program_of(const arguments& a) {
  if (a.app == "uts-mem") return {parallel::uts_mem_program, elided::uts_mem_program};
  if (a.app == "gups") return {parallel::gups_program, elided::gups_program};
  if (a.app == "stream") return {parallel::stream_program, elided::stream_program};
  if (a.app == "histogram") return {parallel::histogram_program, elided::histogram_program};
  return {parallel::pagerank_program, elided::pagerank_program};
}

// How much a phase that counts does, and of what; in millions a second, or bytes.
struct rate {
  double amount;
  const char* unit;
};
rate rate_of(const arguments& a, std::string_view phase, const phase_result& result) {
  const memory_sizes& m = a.memory;
  const auto real = [](std::uint64_t n) { return static_cast<double>(n); };
  if (a.app == "uts-mem") return {real(result.number) / 1e6, "Mnodes/s"};
  if (a.app == "gups") return {real(m.updates) / 1e6, "Mupdates/s"};
  if (a.app == "stream") {
    const double arrays = phase == "add" || phase == "triad" ? 3 : 2;
    return {arrays * sizeof(double) * real(m.n) / 1e9, "GB/s"};
  }
  const double edges = real(m.degree) * real(std::uint64_t{1} << m.scale) / 1e6;
  return {a.app == "pagerank" ? edges * real(m.iterations) : edges, "Medges/s"};
}

struct measured_phase {
  std::string_view name;
  bool counts;
  double seconds;
  rate did;
};

struct measured_run {
  std::vector<measured_phase> phases;
  double seconds = 0;  // of those that count
  phase_result result;
  std::optional<bool> verified;
  std::optional<tobi::statistics> stats;  // over the phases that count
  std::optional<double> serial_seconds;
};

// CALL runs a function of the program: as a root task, or as it is.
template <class Call, class Before, class After>
measured_run run_once(const arguments& a, const memory_program& what, Call call, Before before, After after) {
  measured_run run;
  for (const memory_phase& phase : what.phases) {
    before(phase);
    const auto begin = std::chrono::steady_clock::now();
    const phase_result result = call(phase.body);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    after(phase, run);
    run.phases.push_back({phase.name, phase.counts, seconds, rate_of(a, phase.name, result)});
    if (!phase.counts) continue;
    run.seconds += seconds;
    run.result = result;
  }
  return run;
}

// A tree has a known answer, or else a serial search finds it; the others compare what they have in memory.
tree_count search(const tree& t) {
  tree_count found{0, 0};
  std::vector<tree_node> open{tree_root(t)};
  while (!open.empty()) {
    const tree_node n = open.back();
    open.pop_back();
    const auto children = static_cast<std::uint32_t>(tree_children(t, n));
    for (std::uint32_t i = 0; i < children; ++i) open.push_back(tree_child(t, n, i));
    const std::uint64_t nodes = found.nodes + 1;
    if (children == 0) found = tree_count::sum(found, tree_count::leaf(static_cast<std::uint64_t>(n.height)));
    found.nodes = nodes;
  }
  return found;
}

bool right_tree(const arguments& a, const phase_result& got) {
  const tree_count found{got.number, got.second};
  tree_count right{};
  if (const named_tree* known = find_tree(a.tree_name); known != nullptr) {
    const std::uint64_t leaves = known->leaves != 0 ? known->leaves : found.leaves();
    right = {known->nodes, leaves << tree_count::depth_bits | known->depth};
  } else {
    static const tree_count once = search(a.shape);
    right = once;
  }
  if (found.nodes == right.nodes && found.leaves_and_depth == right.leaves_and_depth) return true;
  fmt::print(stderr, "tobi-bench: uts-mem found {} nodes, {} leaves, depth {}, which is wrong: {}, {}, {} are right\n",
             found.nodes, found.leaves(), found.depth(), right.nodes, right.leaves(), right.depth());
  return false;
}

bool right_memory(const arguments& a, const phase_result& wrong) {
  if (wrong.number == 0) return true;
  fmt::print(stderr, "tobi-bench: {} {}: {} elements are not what a serial program makes them\n", a.app,
             a.app == "uts-mem" ? a.tree_name : describe(a), wrong.number);
  return false;
}

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

struct setting {
  int workers;  // that run tasks
  int servers;  // that execute their atomics and run none (TOBI_AMO_SERVER=worker)
  int nodes;
  std::string transport, sched, deque;
};

nlohmann::ordered_json params_of(const arguments& a) {
  const memory_sizes& m = a.memory;
  if (a.app == "uts-mem") {
    return a.tree_name.empty() ? nlohmann::ordered_json{{"shape", describe(a)}}
                               : nlohmann::ordered_json{{"tree", a.tree_name}};
  }
  if (a.app == "gups") return {{"n", m.n}, {"updates", m.updates}, {"cutoff", m.cutoff}, {"chunk", m.chunk}};
  if (a.app == "stream") return {{"n", m.n}, {"cutoff", m.cutoff}, {"chunk", m.chunk}};
  nlohmann::ordered_json graph{
      {"scale", m.scale}, {"degree", m.degree}, {"seed", m.seed}, {"cutoff", m.cutoff}, {"chunk", m.chunk}};
  if (a.app == "pagerank") graph["iterations"] = m.iterations;
  return graph;
}

void print_json(const arguments& a, const setting& where, const measured_run& run) {
  nlohmann::ordered_json line{{"app", a.app},
                              {"params", params_of(a)},
                              {"workers", where.workers},
                              {"servers", where.servers},
                              {"nodes", where.nodes},
                              {"transport", where.transport},
                              {"sched", where.sched},
                              {"deque", where.deque},
                              {"cache_policy", variable("TOBI_CACHE_POLICY", "write_back_lazy")},
                              {"seconds", run.seconds},
                              {"result", run.result.number},
                              {"verified", nullptr},
                              {"stats", nullptr}};
  if (run.verified) line["verified"] = *run.verified;
  if (run.stats) {
    line["stats"] = stats_of(*run.stats);
    const double each_seconds = static_cast<double>(run.stats->run_time) / 1e9;
    line["stats"]["global"] = global_of(run.stats->global, each_seconds * where.workers);
  }
  for (const measured_phase& p : run.phases) {
    nlohmann::ordered_json& of = line["phases"][std::string(p.name)];
    of["seconds"] = p.seconds;
    if (p.counts) of[p.did.unit] = p.did.amount / p.seconds;
  }
  if (a.app == "uts-mem") {
    const tree_count found{run.result.number, run.result.second};
    line["leaves"] = found.leaves();
    line["depth"] = found.depth();
  }
  if (run.serial_seconds) {
    line["serial_seconds"] = *run.serial_seconds;
    line["efficiency"] = *run.serial_seconds / (where.workers * run.seconds);
  }
  fmt::print("{}\n", line.dump());
}

void print_table(const arguments& a, const setting& where, const measured_run& run, bool first) {
  if (first) {
    if (where.sched == "serial") {
      fmt::print("{} {}, serial elision\n", a.app, describe(a));
    } else {
      fmt::print("{} {}, {} worker{} ({}, {}, {}, {})\n", a.app, describe(a), where.workers,
                 where.workers == 1 ? "" : "s", where.transport, where.sched, where.deque,
                 variable("TOBI_CACHE_POLICY", "write_back_lazy"));
    }
    fmt::print("{:>12}", "seconds");
    for (const measured_phase& p : run.phases) fmt::print("{:>28}", fmt::format("{} s", p.name));
    if (run.serial_seconds) fmt::print("{:>12}{:>12}", "serial s", "efficiency");
    fmt::print("{}\n", a.verify ? "  verified" : "");
  }
  fmt::print("{:>12.4f}", run.seconds);
  for (const measured_phase& p : run.phases) {
    const std::string speed = p.counts ? fmt::format(" {:.2f} {}", p.did.amount / p.seconds, p.did.unit) : "";
    fmt::print("{:>28}", fmt::format("{:.4f}{}", p.seconds, speed));
  }
  if (run.serial_seconds)
    fmt::print("{:>12.4f}{:>12.3f}", *run.serial_seconds, *run.serial_seconds / (where.workers * run.seconds));
  fmt::print("{}\n", a.verify ? *run.verified ? "  yes" : "  NO" : "");
}

void report(const arguments& a, const setting& where, const measured_run& run, bool first) {
  a.json ? print_json(a, where, run) : print_table(a, where, run, first);
  std::fflush(stdout);
}

measured_run run_elided(const arguments& a, const memory_program& what) {
  const auto call = [](phase_result (*body)()) {
    phase_result got;
    on_deep_stack([&] { got = body(); });
    return got;
  };
  measured_run run = run_once(
      a, what, call, [](const memory_phase&) {}, [](const memory_phase&, measured_run&) {});
  if (a.verify) run.verified = what.wrong == nullptr ? right_tree(a, run.result) : right_memory(a, what.wrong());
  return run;
}

int run_serially(const arguments& a, const memory_program& what) {
  what.prepare(a.memory);
  bool right = true;
  for (int i = -a.warmup; i < a.repeat; ++i) {
    const measured_run run = run_elided(a, what);
    right = right && run.verified.value_or(true);
    if (i >= 0) report(a, {1, 0, 1, "none", "serial", "none"}, run, i == 0);
  }
  return right ? 0 : 1;
}

}  // namespace

int run_memory_program(const arguments& a) {
  const both_variants program = program_of(a);
  if (a.serial) return run_serially(a, program.serial);
  const memory_program& what = program.with_tasks;
  progress shown(a.progress && !a.json, a);
  tobi::runtime rt(tobi::options{.workers = a.workers});
  progress_word = shown.word(rt.rank());
  what.prepare(a.memory);
  if (a.efficiency && rt.rank() == 0) program.serial.prepare(a.memory);
  const setting where{rt.computing(),
                      rt.size() - rt.computing(),
                      rt.nodes(),
                      std::string(rt.transport_name()),
                      std::string(rt.sched_name()),
                      std::string(rt.deque_name())};

  const auto call = [](phase_result (*body)()) { return tobi::run([=] { return body(); }); };
  bool counting = false;
  const auto before = [&](const memory_phase& phase) {
    if (phase.counts && !counting) rt.reset_stats();
    counting = phase.counts;
    shown.start(phase.name);
  };
  const auto after = [&](const memory_phase& phase, measured_run& run) {
    shown.stop();
    if (phase.counts) run.stats = rt.stats();
  };
  bool right = true;
  for (int i = -a.warmup; i < a.repeat; ++i) {
    measured_run run = run_once(a, what, call, before, after);
    if (a.verify) {
      const phase_result wrong = what.wrong == nullptr ? phase_result{} : call(what.wrong);
      if (rt.rank() == 0) {
        run.verified = what.wrong == nullptr ? right_tree(a, run.result) : right_memory(a, wrong);
        right = right && *run.verified;
      }
    }
    if (rt.rank() == 0 && i >= 0) {
      if (a.efficiency) {
        shown.start("serial elision");
        const measured_run alone = run_elided(a, program.serial);
        shown.stop();
        run.serial_seconds = alone.seconds;
        right = right && alone.verified.value_or(true);
      }
      report(a, where, run, i == 0);
    }
    rt.barrier();
  }
  return rt.rank() == 0 && !right ? 1 : 0;
}

}  // namespace tobi_bench
