// SPDX-License-Identifier: Apache-2.0
// The command line of lb-synthetic.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

#include "tools/bench/subcommands.hpp"

namespace tobi_bench {

namespace {

// A number from LOW to HIGH; CLI::Range lets NaN pass.
CLI::Validator number_from(double low, double high) {
  return CLI::Range(low, high) & CLI::Validator(
                                     [](std::string& text) {
                                       return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is no number"
                                                                                             : std::string();
                                     },
                                     "");
}

void distribution_options(CLI::App& sub, lb_options& o) {
  sub.add_option("--cores", o.cores, "virtual cores, such as 2400,38400 (default: the paper's 2400 to 38400)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  sub.add_option("--n", o.strides, "each n-th core is favoured, such as 2,4,8")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  sub.add_option("--m", o.favours, "tasks that it gets where the others get one, such as 2,4,16")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  auto* tasks = sub.add_option("--tasks", o.tasks, "tasks of all cores (default: the paper's 213000)")
                    ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 28));
  sub.add_option("--tasks-per-core", o.tasks_per_core, "tasks of a core, on average, on each number of cores")
      ->check(CLI::Range(1, 10000))
      ->excludes(tasks);
  sub.add_option("--spread", o.spread, "standard deviation of the logarithm of a task's time")
      ->capture_default_str()
      ->check(number_from(0, 3));
  sub.add_option("--seed", o.seed, "of the times")->capture_default_str();
}

}  // namespace

void add_lb_synthetic(CLI::App& app, arguments& a) {
  auto* sub = app.add_subcommand("lb-synthetic", "the balancers of task collections on any number of virtual cores");
  lb_options& o = a.lb;
  distribution_options(*sub, o);
  sub->add_option("--balancer", o.balancer, "one balancer alone (default: both)")
      ->check(CLI::IsMember({"central", "hierarchical", "both"}));
  sub->add_option("--branching", o.branching, "children of a node of the tree")
      ->capture_default_str()
      ->check(CLI::Range(2, 1024));
  sub->add_option("--c", o.c, "times the average load that a core keeps at most")
      ->capture_default_str()
      ->check(number_from(1, 100));
  sub->add_option("--d", o.d, "times the average load up to which a core is given tasks on the way up")
      ->capture_default_str()
      ->check(number_from(1, 100));
  sub->add_option("--bins", o.bins, "bins between a time and twice that time: a power of two")
      ->capture_default_str()
      ->check(CLI::IsMember({1, 2, 4, 8, 16, 32, 64, 128, 256}));
  sub->add_option("--message-us", o.message_us, "microseconds that handling a message takes")
      ->capture_default_str()
      ->check(number_from(0, 1e6));
  sub->add_option("--gbytes", o.gbytes, "gigabytes per second of a core's network")
      ->capture_default_str()
      ->check(number_from(1e-3, 1e6));
  sub->add_option("--task-bytes", o.task_bytes, "bytes of a task's descriptor")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  sub->add_option("--repeat", a.repeat, "times that each core computes, of which the shortest counts (default: 5)")
      ->check(CLI::Range(1, 100000));
  sub->add_flag("--json", a.json, "one JSON object per balancer and distribution");
}

}  // namespace tobi_bench
