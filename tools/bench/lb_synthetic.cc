// SPDX-License-Identifier: Apache-2.0
// What the balancers of task collections cost on large machines, and how good they are: HPDC'12, section 7.3, table 3.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/bench/measures.hpp"
#include "tools/bench/virtual_cores.hpp"

namespace tobi_bench {

namespace {

// A core of the paper's machine computes 48 seconds where there are 2400 of them (table 3).
constexpr double paper_core_seconds = 48.0 * 2400;

void print(const arguments& a, const dealt_tasks& how, bool central, const balance_outcome& o) {
  const char* name = central ? "central" : "hierarchical";
  const double per_core = static_cast<double>(how.tasks) / how.cores;
  if (!a.json) {
    fmt::print("{:>8}{:>5}{:>5}{:>8.1f}  {:<13}{:>9.2f}{:>9.3f}{:>11.3f}{:>11.3f}{:>9}{:>9}{:>9}\n", how.cores,
               how.stride, how.favour, per_core, name, o.before, o.after, o.path.seconds * 1e3, o.path.compute_s * 1e3,
               o.path.steps, o.path.messages, o.moved);
    return;
  }
  const nlohmann::ordered_json line{
      {"app", "lb-synthetic"},
      {"params",
       {{"balancer", name}, {"cores", how.cores}, {"n", how.stride}, {"m", how.favour}, {"tasks", how.tasks}}},
      {"rules",
       {{"spread", how.spread},
        {"seed", how.seed},
        {"branching", a.lb.branching},
        {"c", a.lb.c},
        {"d", a.lb.d},
        {"bins", a.lb.bins},
        {"message_us", a.lb.message_us},
        {"gbytes", a.lb.gbytes},
        {"task_bytes", a.lb.task_bytes}}},
      {"tasks_per_core", per_core},
      {"imbalance_before", o.before},
      {"imbalance_after", o.after},
      {"percent_over_ideal", (o.after - 1) * 100},
      {"seconds", o.path.seconds},
      {"compute_s", o.path.compute_s},
      {"steps", o.path.steps},
      {"messages_in_a_row", o.path.messages},
      {"bytes_in_a_row", o.path.bytes},
      {"messages", o.messages},
      {"bytes", o.bytes},
      {"moved", o.moved}};
  fmt::print("{}\n", line.dump());
}

int balance_one(const arguments& a, const dealt_tasks& how) {
  const core_times times = deal(how);
  const virtual_network net{a.lb.message_us * 1e-6, a.lb.gbytes * 1e9, a.lb.task_bytes};
  for (const bool central : {true, false}) {
    if (a.lb.balancer == (central ? "hierarchical" : "central")) continue;
    const balance_outcome o = balance(times, {central, a.lb.branching, a.lb.c, a.lb.d, a.lb.bins}, net, a.repeat);
    if (o.tasks != how.tasks) {
      fmt::print(stderr, "tobi-bench: of {} tasks {} were left after the {} balancer on {} cores; this is a defect\n",
                 how.tasks, o.tasks, central ? "centralised" : "hierarchical", how.cores);
      return 1;
    }
    print(a, how, central, o);
  }
  return 0;
}

}  // namespace

int measure_lb_synthetic(const arguments& a) {
  if (!a.json) {
    fmt::print(
        "lb-synthetic: each n-th of the cores is given m tasks at a time. Load is highest over mean, times are in ms "
        "of the longest chain of cores that wait for each other\n");
    fmt::print("{:>8}{:>5}{:>5}{:>8}  {:<13}{:>9}{:>9}{:>11}{:>11}{:>9}{:>9}{:>9}\n", "cores", "n", "m", "tasks",
               "balancer", "before", "after", "time", "computing", "steps", "messages", "moved");
  }
  for (const std::uint32_t n : a.lb.strides) {
    for (const std::uint32_t m : a.lb.favours) {
      for (const std::uint32_t cores : a.lb.cores) {
        dealt_tasks how{cores, n, m, a.lb.tasks, 0, a.lb.spread, a.lb.seed};
        if (a.lb.tasks_per_core != 0) how.tasks = a.lb.tasks_per_core * cores;
        how.mean_s = paper_core_seconds / static_cast<double>(std::max<std::uint64_t>(a.lb.tasks, 1));
        if (const int status = balance_one(a, how); status != 0) return status;
      }
    }
  }
  return 0;
}

}  // namespace tobi_bench
