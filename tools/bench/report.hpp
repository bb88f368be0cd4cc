// SPDX-License-Identifier: Apache-2.0
// What is said about a run: a line of a table for people, an object for programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tobi/statistics.hpp>
#include <vector>

#include "tools/bench/programs.hpp"

namespace tobi_bench {

/// What a run is called in the output, apart from its numbers.
struct setting {
  int workers;  // that run tasks
  int servers;  // that execute their atomics and run none (TOBI_AMO_SERVER=worker)
  int nodes;
  std::string transport, sched, deque;
  bool local_collection;
};

struct measured_phase {
  std::string_view name;
  bool counts;
  double seconds;
  work did;

  [[nodiscard]] double speed() const { return did.amount / seconds / 1e6; }  // in the unit
};

/// One measured run, and the elision to compare with where that was asked for.
struct run_report {
  std::vector<measured_phase> phases;  // of a program on global memory
  double seconds = 0;                  // of those that count
  answer got;
  std::optional<bool> verified;
  std::optional<tobi::statistics> stats;      // of the runtime; the elision has none
  std::vector<tobi::statistics> each_worker;  // the same by rank
  std::optional<double> serial_seconds;
  std::optional<ideal> best;  // where a program's work is known

  [[nodiscard]] double efficiency(int workers) const { return *serial_seconds / (workers * seconds); }
};

void report(const program& what, const arguments& a, const setting& where, const run_report& r, bool first);
/// The sentence about all runs, each with its elision.
void print_summary(const program& what, const arguments& a, const std::vector<run_report>& runs, int workers);

}  // namespace tobi_bench
