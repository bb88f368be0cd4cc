// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "libcore/base/statistics.hpp"
#include "tools/bench/run.hpp"
#include "tools/bench/timing.hpp"

namespace tobi_bench {

namespace {

template <class Of, std::size_t N>
nlohmann::ordered_json json_of(const tobi::base::figure<Of> (&table)[N], const Of& counted, bool forks_counted) {
  nlohmann::ordered_json all;
  for (const tobi::base::figure<Of>& f : table) {
    nlohmann::ordered_json& value = all[std::string(f.name)];
    if (f.of_forks && !forks_counted) continue;  // what was not counted is null, not 0
    if (f.real != nullptr) {
      value = f.real(counted);
    } else {
      value = f.count(counted);
    }
  }
  return all;
}

}  // namespace

nlohmann::ordered_json stats_of(const tobi::statistics& s) { return json_of(tobi::base::figures, s, s.forks != 0); }

nlohmann::ordered_json global_of(const tobi::global_statistics& g, double worker_seconds) {
  if (g.checkouts == 0) return {};
  nlohmann::ordered_json all = json_of(tobi::base::global_figures, g, true);
  nlohmann::ordered_json& phases = all["phases_s"];
  double sum = 0;
  for (std::size_t i = 0; i < tobi::global_phases; ++i) sum += static_cast<double>(g.time_ns[i]) / 1e9;
  if (sum == 0) return all;
  for (std::size_t i = 0; i < tobi::global_phases; ++i) {
    phases[std::string(tobi::base::global_phase_names[i].name)] = static_cast<double>(g.time_ns[i]) / 1e9;
  }
  phases["others"] = std::max(0.0, worker_seconds - sum);
  return all;
}

namespace {

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}
std::string cache_policy() { return variable("TOBI_CACHE_POLICY", "write_back_lazy"); }

void print_json(const program& what, const arguments& a, const setting& where, const run_report& r) {
  nlohmann::ordered_json line{
      {"app", a.app},         {"params", what.params(a)},     {"workers", where.workers}, {"servers", where.servers},
      {"nodes", where.nodes}, {"transport", where.transport}, {"sched", where.sched},     {"deque", where.deque}};
  line["local_collection"] = where.local_collection;
  if (what.on_memory() || what.sorts_memory) line["cache_policy"] = cache_policy();
  line["seconds"] = r.seconds;
  line["result"] = r.got.result;
  line["verified"] = r.verified ? nlohmann::ordered_json(*r.verified) : nlohmann::ordered_json();
  line["stats"] = nullptr;
  if (r.stats) {
    const auto seconds_in_run = [](const tobi::statistics& s) { return static_cast<double>(s.run_ns) / 1e9; };
    line["stats"] = stats_of(*r.stats);
    line["stats"]["global"] = global_of(r.stats->global, seconds_in_run(*r.stats) * where.workers);
    for (const tobi::statistics& s : r.each_worker) {
      line["stats"]["each_worker"].push_back(stats_of(s));
      line["stats"]["each_worker"].back()["global"] = global_of(s.global, seconds_in_run(s));
    }
  }
  for (const measured_phase& p : r.phases) {
    nlohmann::ordered_json& of = line["phases"][std::string(p.name)];
    of["seconds"] = p.seconds;
    if (p.counts) of[p.did.unit] = p.speed();
  }
  if (what.is_loop && !a.loop.sleeps) line["rounds"] = a.loop.one.rounds;  // calibrated, so not what was asked for
  if (what.searches_tree) {
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

void print_heading(const program& what, const arguments& a, const setting& where, const run_report& r) {
  if (where.sched == "serial") {
    fmt::print("{} {}, serial elision\n", a.app, what.describe(a));
  } else {
    const std::string servers =
        where.servers == 0 ? "" : fmt::format(" and {} server{}", where.servers, where.servers == 1 ? "" : "s");
    fmt::print("{} {}, {} worker{}{} ({}, {}, {}{})\n", a.app, what.describe(a), where.workers,
               where.workers == 1 ? "" : "s", servers, where.transport, where.sched, where.deque,
               what.on_memory() ? ", " + cache_policy() : "");
  }
  if (what.on_memory()) {
    fmt::print("{:>12}", "seconds");
    for (const measured_phase& p : r.phases) fmt::print("{:>28}", fmt::format("{} s", p.name));
  } else {
    fmt::print("{:>20}", what.result);
    if (what.searches_tree) fmt::print("{:>14}{:>8}", "leaves", "depth");
    fmt::print("{:>12}{:>14}", "seconds", what.done(a, r.got, "").unit);
  }
  if (a.efficiency) fmt::print("{:>12}{:>12}", "serial s", "efficiency");
  fmt::print("{}\n", a.verify ? "  verified" : "");
}

void print_row(const program& what, const arguments& a, const setting& where, const run_report& r) {
  if (what.on_memory()) {
    fmt::print("{:>12.4f}", r.seconds);
    for (const measured_phase& p : r.phases) {
      const std::string speed = p.counts ? fmt::format(" {:.2f} {}", p.speed(), p.did.unit) : "";
      fmt::print("{:>28}", fmt::format("{:.4f}{}", p.seconds, speed));
    }
  } else {
    fmt::print("{:>20}", r.got.result);
    if (what.searches_tree) fmt::print("{:>14}{:>8}", r.got.tree.leaves(), r.got.tree.depth());
    fmt::print("{:>12.4f}{:>14.2f}", r.seconds, what.done(a, r.got, "").amount / r.seconds / 1e6);
  }
  if (r.serial_seconds) fmt::print("{:>12.4f}{:>12.3f}", *r.serial_seconds, r.efficiency(where.workers));
  if (a.verify) fmt::print("  {}", !r.verified ? "no known answer" : *r.verified ? "yes" : "NO");
  fmt::print("\n");
  if (r.best) fmt::print("  {}\n", compare(*r.best, where.workers, r.seconds));
}

// 102181082 as 102,181,082: for the one sentence that people read.
std::string with_commas(std::uint64_t n) {
  return n < 1000 ? fmt::format("{}", n) : fmt::format("{},{:03}", with_commas(n / 1000), n % 1000);
}

}  // namespace

void report(const program& what, const arguments& a, const setting& where, const run_report& r, bool first) {
  if (a.json) {
    print_json(what, a, where, r);
  } else {
    if (first) print_heading(what, a, where, r);
    print_row(what, a, where, r);
  }
  std::fflush(stdout);
}

void print_summary(const program& what, const arguments& a, const std::vector<run_report>& runs, int workers) {
  std::vector<double> parallel_s;
  std::vector<double> serial_s;
  for (const run_report& r : runs) {
    parallel_s.push_back(r.seconds);
    serial_s.push_back(*r.serial_seconds);
  }
  const double speedup = median(serial_s) / median(parallel_s);
  const work did = what.done(a, runs.front().got, "");
  fmt::print("{} {}: {} in {:.3f} s on {} worker{}, {:.2f} {}; {:.3f} times the serial elision ({:.3f} s), efficiency ",
             a.app, what.describe(a), with_commas(runs.front().got.result), median(parallel_s), workers,
             workers == 1 ? "" : "s", did.amount / median(parallel_s) / 1e6, did.unit, speedup, median(serial_s));
  fmt::print("{:.3f}{}\n", speedup / workers,
             runs.size() == 1 ? "" : fmt::format(" (medians of {} interleaved runs)", runs.size()));
}

}  // namespace tobi_bench
