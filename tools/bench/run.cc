#include "tools/bench/run.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tobi/runtime.hpp>
#include <vector>

#include "tools/bench/answers.hpp"
#include "tools/bench/apps/variant.hpp"
#include "tools/bench/progress.hpp"

namespace tobi_bench {

std::uint64_t* progress_word = nullptr;

namespace {

// The answer of any program: a tree has three numbers, the others have one.
struct answer {
  std::uint64_t result;
  tree_count tree;
};

answer run_parallel(const arguments& a) {
  const std::uint64_t n = a.n;
  const std::uint64_t depth = a.depth;
  const std::uint64_t iter = a.iter;
  if (a.app == "fib") return {tobi::run([=] { return parallel::fib(n); }), {}};
  if (a.app == "btc") return {tobi::run([=] { return parallel::btc(depth, iter); }), {}};
  if (a.app == "nqueens") return {tobi::run([=] { return parallel::nqueens(n); }), {}};
  const tree_count found = tobi::run([] { return parallel::uts(); });
  return {found.nodes, found};
}

answer run_elided(const arguments& a) {
  if (a.app == "fib") return {elided::fib(a.n), {}};
  if (a.app == "btc") return {elided::btc(a.depth, a.iter), {}};
  if (a.app == "nqueens") return {elided::nqueens(a.n), {}};
  const tree_count found = elided::uts();
  return {found.nodes, found};
}

template <class F>
double seconds_of(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

nlohmann::ordered_json params_of(const arguments& a) {
  if (a.app == "btc") return {{"depth", a.depth}, {"iter", a.iter}};
  if (a.app != "uts") return {{"n", a.n}};
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

nlohmann::ordered_json stats_of(const tobi::statistics& s) {
  return {{"forks", s.forks},
          {"joins", s.joins},
          {"outstanding_joins", s.outstanding_joins},
          {"steals_ok", s.steals_ok},
          {"steals_failed", s.steals_failed},
          {"steal_latency_ns", s.steal_latency_ns()},
          {"round_trips_a_steal", s.round_trips_a_steal()},
          {"stolen_bytes", s.stolen_bytes},
          {"evacuations", s.evacuations},
          {"published", s.published},
          {"taken_back", s.taken_back},
          {"peak_stack_bytes", s.peak_stack_bytes},
          {"stolen_per_created", s.stolen_per_created()}};
}

// What a run is called in the output, apart from its numbers.
struct setting {
  int workers;
  std::string transport, sched, deque;
};

void report(const arguments& a, const setting& where, double seconds, const answer& got, std::optional<bool> verified,
            const tobi::statistics& stats) {
  if (a.json) {
    nlohmann::ordered_json line{{"app", a.app},         {"params", params_of(a)},       {"workers", where.workers},
                                {"nodes", 1},           {"transport", where.transport}, {"sched", where.sched},
                                {"deque", where.deque}, {"seconds", seconds},           {"result", got.result},
                                {"verified", nullptr},  {"stats", stats_of(stats)}};
    if (verified) line["verified"] = *verified;
    if (a.app == "uts") {
      line["leaves"] = got.tree.leaves();
      line["depth"] = got.tree.depth();
    }
    fmt::print("{}\n", line.dump());
  } else {
    const std::string checked = !a.verify   ? ""
                                : !verified ? "  (no known answer)"
                                : *verified ? "  verified"
                                            : "  WRONG";
    const std::string shape =
        a.app == "uts" ? fmt::format("  leaves {}  depth {}", got.tree.leaves(), got.tree.depth()) : "";
    fmt::print("{} {}  result {}{}  {:.4f} s", a.app, describe(a), got.result, shape, seconds);
    if (a.app != "fib") fmt::print("  {:.2f} M/s", static_cast<double>(got.result) / seconds / 1e6);
    fmt::print("  {} x{}{}\n", where.sched, where.workers, checked);
  }
  std::fflush(stdout);
}

// Checks one answer; false when it is known and wrong.
bool accept(const arguments& a, const answer& got, std::optional<bool>& verified) {
  if (!a.verify) return true;
  verified = known_answer(a, got.result, got.tree);
  if (verified && !*verified) {
    fmt::print(stderr, "tobi-bench: {} {} gave {}, which is wrong: {}\n", a.app, describe(a), got.result,
               expectation(a));
    return false;
  }
  return true;
}

int run_serially(const arguments& a) {
  elided::uts_prepare(a.shape);
  bool right = true;
  for (int i = -a.warmup; i < a.repeat; ++i) {
    answer got{};
    const double seconds = seconds_of([&] { got = run_elided(a); });
    std::optional<bool> verified;
    right = accept(a, got, verified) && right;
    if (i >= 0) report(a, {1, "none", "serial", "none"}, seconds, got, verified, {});
  }
  return right ? 0 : 1;
}

void report_efficiency(const std::vector<double>& parallel_s, const std::vector<double>& serial_s, int workers,
                       bool json) {
  const double p = median(parallel_s);
  const double s = median(serial_s);
  const double speedup = s / p;
  if (json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"serial_seconds", s},
                                              {"seconds", p},
                                              {"workers", workers},
                                              {"speedup", speedup},
                                              {"efficiency", speedup / workers}}
                           .dump());
  } else {
    fmt::print("serial elision {:.4f} s, {} workers {:.4f} s (medians of {}): speedup {:.3f}, efficiency {:.3f}\n", s,
               workers, p, parallel_s.size(), speedup, speedup / workers);
  }
}

}  // namespace

int run_app(const arguments& a) {
  if (a.serial) return run_serially(a);
  progress shown(a.progress && !a.json, a);
  tobi::runtime rt(tobi::options{.workers = a.workers});
  progress_word = shown.word(rt.rank());
  parallel::uts_prepare(a.shape);
  elided::uts_prepare(a.shape);
  const setting where{rt.size(), std::string(rt.transport_name()), "continuation_greedy", std::string(rt.deque_name())};

  bool right = true;
  std::vector<double> parallel_s;
  std::vector<double> serial_s;
  for (int i = -a.warmup; i < a.repeat; ++i) {
    rt.reset_stats();
    answer got{};
    shown.start("tasks");
    const double seconds = seconds_of([&] { got = run_parallel(a); });
    shown.stop();
    const tobi::statistics stats = rt.stats();
    std::optional<bool> verified;
    if (rt.rank() == 0) {
      right = accept(a, got, verified) && right;
      if (i >= 0) {
        parallel_s.push_back(seconds);
        report(a, where, seconds, got, verified, stats);
      }
      if (a.efficiency && i >= 0) {
        shown.start("serial elision");
        answer alone{};
        serial_s.push_back(seconds_of([&] { alone = run_elided(a); }));
        shown.stop();
        if (alone.result != got.result) {
          fmt::print(stderr, "tobi-bench: the serial elision gave {}, the tasks {}\n", alone.result, got.result);
          right = false;
        }
      }
    }
    rt.barrier();
  }
  if (rt.rank() == 0 && a.efficiency) report_efficiency(parallel_s, serial_s, rt.size(), a.json);
  return rt.rank() == 0 && !right ? 1 : 0;
}

}  // namespace tobi_bench
