// SPDX-License-Identifier: Apache-2.0
// What is said about a run of a program over a collection.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/bench/collection_runs.hpp"

namespace tobi_bench {

namespace {

nlohmann::ordered_json json_of(const spread& s) { return {{"mean", s.mean}, {"deviation", s.deviation}}; }

nlohmann::ordered_json json_of(const collection_iteration& i) {
  return {{"seconds", i.seconds},
          {"ideal_seconds", i.ideal_seconds},
          {"efficiency", i.efficiency()},
          {"moved", i.moved},
          {"balance_seconds", i.balance_seconds},
          {"between_seconds", i.between_seconds},
          {"executed", i.executed},
          {"null", i.null},
          {"tasks", json_of(i.tasks)},
          {"attempted_steals", json_of(i.attempted_steals)},
          {"steals", json_of(i.steals)},
          {"stolen", json_of(i.stolen)},
          {"utilisation", i.utilisation}};
}

std::string in_text(const spread& s) { return fmt::format("{:.1f} ({:.1f})", s.mean, s.deviation); }

// The iteration of which a run's single numbers are: the last.
const collection_iteration& shown_of(const collection_run& r) { return r.iterations.back(); }

void print_collection_json(const arguments& a, tobi::runtime& rt, const collection_program& program,
                           const collection_run& r, const bool* verified) {
  nlohmann::ordered_json line{{"app", a.app},
                              {"params", program.params()},
                              {"scheme", name_of(a.collection.how)},
                              {"workers", rt.computing()},
                              {"servers", rt.size() - rt.computing()},
                              {"nodes", rt.nodes()},
                              {"transport", rt.transport_name()},
                              {"sched", rt.sched_name()},
                              {"deque", rt.deque_name()},
                              {"seconds", shown_of(r).seconds},
                              {"first_seconds", r.iterations.front().seconds},
                              {"ideal_seconds", shown_of(r).ideal_seconds},
                              {"efficiency", shown_of(r).efficiency()}};
  line["all_tasks"] = r.all;
  line["non_null_tasks"] = r.non_null;
  line["ended"] = !r.went_on;
  for (const collection_iteration& i : r.iterations) line["iterations"].push_back(json_of(i));
  line["result"] = program.result();
  line["verified"] = verified == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(*verified);
  fmt::print("{}\n", line.dump());
}

void print_collection_table(const arguments& a, tobi::runtime& rt, const collection_program& program,
                            const collection_run& r, const bool* verified) {
  fmt::print("{} {}, {}, {} worker{} on {} node{} ({}); {} tasks, {} of them not null. Per worker: mean (deviation)\n",
             a.app, program.describe(), name_of(a.collection.how), rt.computing(), rt.computing() == 1 ? "" : "s",
             rt.nodes(), rt.nodes() == 1 ? "" : "s", rt.transport_name(), r.all, r.non_null);
  fmt::print("{:>9}{:>11}{:>11}{:>12}{:>11}{:>24}{:>22}{:>18}\n", "iteration", "seconds", "ideal s", "efficiency",
             "tasks", "tasks per worker", "attempted steals", "steals");
  for (std::size_t n = 0; n < r.iterations.size(); ++n) {
    const collection_iteration& i = r.iterations[n];
    fmt::print("{:>9}{:>11.4f}{:>11.4f}{:>12.3f}{:>11}{:>24}{:>22}{:>18}\n", n, i.seconds, i.ideal_seconds,
               i.efficiency(), i.executed, in_text(i.tasks), in_text(i.attempted_steals), in_text(i.steals));
  }
  fmt::print("  utilisation over time, iteration {}, %:", r.iterations.size() - 1);
  for (const double share : shown_of(r).utilisation) fmt::print(" {:.0f}", 100 * share);
  fmt::print("\n");
  const nlohmann::ordered_json result = program.result();
  for (const auto& [name, value] : result.items()) fmt::print("  {}: {}\n", name, value.dump());
  if (verified != nullptr) fmt::print("  verified: {}\n", *verified ? "yes" : "NO");
}

}  // namespace

void report_collection(const arguments& a, tobi::runtime& rt, const collection_program& program,
                       const collection_run& r, const bool* verified) {
  (a.json ? print_collection_json : print_collection_table)(a, rt, program, r, verified);
  std::fflush(stdout);
}

}  // namespace tobi_bench
