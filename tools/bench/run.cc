#include "tools/bench/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <tobi/runtime.hpp>
#include <vector>

#include "tools/bench/answers.hpp"
#include "tools/bench/apps/variant.hpp"
#include "tools/bench/deep_stack.hpp"
#include "tools/bench/model.hpp"
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
  const std::uint64_t cutoff = a.cutoff;
  if (a.app == "fib") return {tobi::run([=] { return parallel::fib(n); }), {}};
  if (a.app == "btc") return {tobi::run([=] { return parallel::btc(depth, iter); }), {}};
  if (a.app == "nqueens") return {tobi::run([=] { return parallel::nqueens(n, cutoff); }), {}};
  const std::uint64_t k = a.k;
  const std::uint64_t rounds = a.rounds;
  if (a.app == "pfor") return {tobi::run([=] { return parallel::pfor(k, n, rounds); }), {}};
  if (a.app == "recpfor") return {tobi::run([=] { return parallel::recpfor(k, n, rounds); }), {}};
  if (a.app == "lcs") return {tobi::run([] { return parallel::lcs(); }), {}};
  if (a.app == "cilksort") {
    tobi::run([=] { parallel::cilksort(cutoff); });
    return {a.n, {}};
  }
  const tree_count found = tobi::run([] { return parallel::uts(); });
  return {found.nodes, found};
}

answer run_elided(const arguments& a) {
  if (a.app == "fib") return {elided::fib(a.n), {}};
  if (a.app == "btc") return {elided::btc(a.depth, a.iter), {}};
  if (a.app == "nqueens") return {elided::nqueens(a.n, a.cutoff), {}};
  if (a.app == "pfor") return {elided::pfor(a.k, a.n, a.rounds), {}};
  if (a.app == "recpfor") return {elided::recpfor(a.k, a.n, a.rounds), {}};
  if (a.app == "lcs") return {elided::lcs(), {}};
  if (a.app == "cilksort") {
    elided::cilksort(a.cutoff);
    return {a.n, {}};
  }
  const tree_count found = elided::uts();
  return {found.nodes, found};
}

template <class F>
double seconds_of(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double time_elided(const arguments& a, answer& got) {
  double seconds = 0;
  if (a.app == "cilksort") elided::cilksort_fill();
  on_deep_stack([&] { seconds = seconds_of([&] { got = run_elided(a); }); });
  if (a.app == "cilksort" && a.verify && !elided::cilksort_sorted()) got.result = 0;
  return seconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

nlohmann::ordered_json params_of(const arguments& a) {
  if (a.app == "btc") return {{"depth", a.depth}, {"iter", a.iter}};
  if (a.app == "nqueens") return {{"n", a.n}, {"cutoff", a.cutoff}};
  if (a.app == "pfor" || a.app == "recpfor") return {{"n", a.n}, {"k", a.k}, {"m_us", a.m}};
  if (a.app == "lcs") return {{"n", a.n}, {"c", a.c}};
  if (a.app == "cilksort") return {{"n", a.n}, {"cutoff", a.cutoff}, {"chunk", a.chunk}};
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

}  // namespace

// Forks are counted with TOBI_STATS=1 only; what was not counted is null, not 0.
nlohmann::ordered_json stats_of(const tobi::statistics& s) {
  const auto counted = [&](auto value) {
    return s.forks == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
  };
  return {{"forks", counted(s.forks)},
          {"joins", counted(s.joins)},
          {"execution_s", static_cast<double>(s.run_time) / 1e9},
          {"outstanding_joins", s.outstanding_joins},
          {"outstanding_join_ns", s.outstanding_join_ns()},
          {"steals_ok", s.steals_ok},
          {"steals_failed", s.steals_failed},
          {"steal_latency_ns", s.steal_latency_ns()},
          {"round_trips_a_steal", s.round_trips_a_steal()},
          {"stolen_bytes", s.stolen_bytes},
          {"contexts_stolen", s.contexts_stolen},
          {"bytes_a_steal", s.bytes_a_steal()},
          {"copy_ns", s.copy_ns()},
          {"evacuations", s.evacuations},
          {"published", s.published},
          {"taken_back", s.taken_back},
          {"peak_stack_bytes", s.peak_stack_bytes},
          {"stolen_per_created", counted(s.stolen_per_created())}};
}

nlohmann::ordered_json global_of(const tobi::global_statistics& g, double worker_seconds) {
  constexpr const char* phases[tobi::global_phases] = {"get",          "checkout", "checkin", "release",
                                                       "lazy_release", "acquire",  "serial"};
  if (g.checkouts == 0) return {};
  nlohmann::ordered_json all{{"checkouts", g.checkouts},
                             {"hits", g.hits},
                             {"hit_rate", g.hit_rate()},
                             {"fetched_bytes", g.fetched_bytes},
                             {"written_bytes", g.written_bytes},
                             {"evictions", g.evictions},
                             {"remaps", g.remaps},
                             {"phases_s", nullptr}};
  double sum = 0;
  for (std::size_t i = 0; i < tobi::global_phases; ++i) sum += static_cast<double>(g.time_ns[i]) / 1e9;
  if (sum == 0) return all;
  for (std::size_t i = 0; i < tobi::global_phases; ++i) {
    all["phases_s"][phases[i]] = static_cast<double>(g.time_ns[i]) / 1e9;
  }
  all["phases_s"]["others"] = std::max(0.0, worker_seconds - sum);
  return all;
}
namespace {

// What a run is called in the output, apart from its numbers.
struct setting {
  int workers;  // that run tasks
  int servers;  // that execute their atomics and run none (TOBI_AMO_SERVER=worker)
  int nodes;
  std::string transport, sched, deque;
  bool local_collection;
};

// One measured run, and the elision beside it where that was asked for.
struct run_report {
  double seconds;
  answer got;
  std::optional<bool> verified;
  std::optional<tobi::statistics> stats;      // of the runtime; the elision has none
  std::vector<tobi::statistics> each_worker;  // the same by rank
  std::optional<double> serial_seconds;
  std::optional<ideal> best;  // where a program's work is known

  [[nodiscard]] double efficiency(int workers) const { return *serial_seconds / (workers * seconds); }
};

void print_json(const arguments& a, const setting& where, const run_report& r) {
  nlohmann::ordered_json line{{"app", a.app},
                              {"params", params_of(a)},
                              {"workers", where.workers},
                              {"servers", where.servers},
                              {"nodes", where.nodes},
                              {"transport", where.transport},
                              {"sched", where.sched},
                              {"deque", where.deque},
                              {"local_collection", where.local_collection},
                              {"seconds", r.seconds},
                              {"result", r.got.result},
                              {"verified", nullptr},
                              {"stats", nullptr}};
  if (r.verified) line["verified"] = *r.verified;
  if (r.stats) {
    const auto seconds_in_run = [](const tobi::statistics& s) { return static_cast<double>(s.run_time) / 1e9; };
    line["stats"] = stats_of(*r.stats);
    line["stats"]["global"] = global_of(r.stats->global, seconds_in_run(*r.stats) * where.workers);
    for (const tobi::statistics& s : r.each_worker) {
      line["stats"]["each_worker"].push_back(stats_of(s));
      line["stats"]["each_worker"].back()["global"] = global_of(s.global, seconds_in_run(s));
    }
  }
  if (a.rounds != 0) line["rounds"] = a.rounds;  // calibrated, so not what was asked for
  if (a.app == "uts") {
    line["leaves"] = r.got.tree.leaves();
    line["depth"] = r.got.tree.depth();
  }
  if (r.serial_seconds) {
    line["serial_seconds"] = *r.serial_seconds;
    line["efficiency"] = r.efficiency(where.workers);
  }
  if (r.best) {
    line["ideal_seconds"] = r.best->at_least(where.workers);
    if (r.best->span != 0) line["greedy_bound_seconds"] = r.best->at_most(where.workers);
    line["ideal_efficiency"] = r.best->at_least(where.workers) / r.seconds;
  }
  fmt::print("{}\n", line.dump());
}

// What is counted for the throughput: what the program answers, but for fib its forks.
struct work {
  double amount;
  const char* unit;
};
work work_of(const arguments& a, const answer& got) {
  if (a.app == "fib") return {fib_forks(a.n), "Mforks/s"};
  const char* const unit = a.app == "uts"        ? "Mnodes/s"
                           : a.app == "btc"      ? "Mtasks/s"
                           : a.app == "cilksort" ? "Melements/s"
                                                 : "Msolutions/s";
  if (a.app == "lcs") return {static_cast<double>(a.n) * static_cast<double>(a.n), "Mcells/s"};
  if (a.app == "pfor" || a.app == "recpfor") return {static_cast<double>(got.result), "Mleaves/s"};
  return {static_cast<double>(got.result), unit};
}

void print_heading(const arguments& a, const setting& where) {
  if (where.sched == "serial") {
    fmt::print("{} {}, serial elision\n", a.app, describe(a));
  } else {
    const std::string servers =
        where.servers == 0 ? "" : fmt::format(" and {} server{}", where.servers, where.servers == 1 ? "" : "s");
    fmt::print("{} {}, {} worker{}{} ({}, {}, {})\n", a.app, describe(a), where.workers, where.workers == 1 ? "" : "s",
               servers, where.transport, where.sched, where.deque);
  }
  fmt::print("{:>20}", a.app == "uts" ? "nodes" : a.app == "btc" ? "tasks" : "result");
  if (a.app == "uts") fmt::print("{:>14}{:>8}", "leaves", "depth");
  fmt::print("{:>12}{:>14}", "seconds", work_of(a, {}).unit);
  if (a.efficiency) fmt::print("{:>12}{:>12}", "serial s", "efficiency");
  fmt::print("{}\n", a.verify ? "  verified" : "");
}

void print_row(const arguments& a, const setting& where, const run_report& r) {
  fmt::print("{:>20}", r.got.result);
  if (a.app == "uts") fmt::print("{:>14}{:>8}", r.got.tree.leaves(), r.got.tree.depth());
  fmt::print("{:>12.4f}{:>14.2f}", r.seconds, work_of(a, r.got).amount / r.seconds / 1e6);
  if (r.serial_seconds) fmt::print("{:>12.4f}{:>12.3f}", *r.serial_seconds, r.efficiency(where.workers));
  if (a.verify) fmt::print("  {}", !r.verified ? "no known answer" : *r.verified ? "yes" : "NO");
  fmt::print("\n");
}

void report(const arguments& a, const setting& where, const run_report& r, bool first) {
  if (a.json) {
    print_json(a, where, r);
  } else {
    if (first) print_heading(a, where);
    print_row(a, where, r);
    if (r.best) fmt::print("  {}\n", compare(*r.best, where.workers, r.seconds));
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

// In every process, before the run: what the elision needs, and what the tasks need as well.
void prepare_elided(const arguments& a) {
  elided::uts_prepare(a.shape);
  if (a.app == "cilksort") elided::cilksort_prepare(a.n, a.chunk);
  if (a.app == "lcs") elided::lcs_prepare(a.n, a.c);
}
void prepare_parallel(const arguments& a) {
  parallel::uts_prepare(a.shape);
  if (a.app == "cilksort") parallel::cilksort_prepare(a.n, a.chunk);
  if (a.app == "lcs") parallel::lcs_prepare(a.n, a.c);
}

int run_serially(const arguments& a) {
  prepare_elided(a);
  const std::optional<ideal> best = ideal_of(a);
  bool right = true;
  for (int i = -a.warmup; i < a.repeat; ++i) {
    run_report r{};
    r.best = best;
    r.seconds = time_elided(a, r.got);
    right = accept(a, r.got, r.verified) && right;
    if (i >= 0) report(a, {1, 0, 1, "none", "serial", "none", true}, r, i == 0);
  }
  return right ? 0 : 1;
}

// 102181082 as 102,181,082: for the one sentence that people read.
std::string with_commas(std::uint64_t n) {
  return n < 1000 ? fmt::format("{}", n) : fmt::format("{},{:03}", with_commas(n / 1000), n % 1000);
}

void print_summary(const std::vector<run_report>& runs, const arguments& a, int workers) {
  std::vector<double> parallel_s;
  std::vector<double> serial_s;
  for (const run_report& r : runs) {
    parallel_s.push_back(r.seconds);
    serial_s.push_back(*r.serial_seconds);
  }
  const double speedup = median(serial_s) / median(parallel_s);
  const work done = work_of(a, runs.front().got);
  fmt::print("{} {}: {} in {:.3f} s on {} worker{}, {:.2f} {}; {:.3f} times the serial elision ({:.3f} s), efficiency ",
             a.app, describe(a), with_commas(runs.front().got.result), median(parallel_s), workers,
             workers == 1 ? "" : "s", done.amount / median(parallel_s) / 1e6, done.unit, speedup, median(serial_s));
  fmt::print("{:.3f}{}\n", speedup / workers,
             runs.size() == 1 ? "" : fmt::format(" (medians of {} interleaved runs)", runs.size()));
}

// The elision on rank 0, while the others sleep in the barrier behind it.
bool run_beside(const arguments& a, run_report& r) {
  answer alone{};
  r.serial_seconds = time_elided(a, alone);
  if (alone.result == r.got.result) return true;
  fmt::print(stderr, "tobi-bench: the serial elision gave {}, the tasks {}\n", alone.result, r.got.result);
  return false;
}

}  // namespace

int run_app(const arguments& asked) {
  arguments a = asked;
  calibrate(a);
  if (a.serial) return run_serially(a);
  const std::optional<ideal> best = ideal_of(a);
  progress shown(a.progress && !a.json, a);
  tobi::runtime rt(tobi::options{.workers = a.workers});
  progress_word = shown.word(rt.rank());
  prepare_parallel(a);
  if (a.efficiency && rt.rank() == 0) prepare_elided(a);
  const setting where{rt.computing(),
                      rt.size() - rt.computing(),
                      rt.nodes(),
                      std::string(rt.transport_name()),
                      std::string(rt.sched_name()),
                      std::string(rt.deque_name()),
                      rt.local_collection()};

  bool right = true;
  std::vector<run_report> runs;
  for (int i = -a.warmup; i < a.repeat; ++i) {
    if (a.app == "cilksort") tobi::run([] { parallel::cilksort_fill(); });
    rt.reset_stats();
    run_report r{};
    r.best = best;
    shown.start("tasks");
    r.seconds = seconds_of([&] { r.got = run_parallel(a); });
    shown.stop();
    r.each_worker.resize(static_cast<std::size_t>(rt.size()));
    r.stats = rt.stats(r.each_worker.data());
    if (a.app == "cilksort" && a.verify && !tobi::run([] { return parallel::cilksort_sorted(); })) r.got.result = 0;
    if (rt.rank() == 0) {
      right = accept(a, r.got, r.verified) && right;
      if (a.efficiency && i >= 0) {
        shown.start("serial elision");
        right = run_beside(a, r) && right;
        shown.stop();
      }
      if (i >= 0) report(a, where, r, i == 0);
      if (i >= 0) runs.push_back(r);
    }
    rt.barrier();
  }
  if (rt.rank() == 0 && a.efficiency && !a.json) print_summary(runs, a, rt.computing());
  return rt.rank() == 0 && !right ? 1 : 0;
}

}  // namespace tobi_bench
