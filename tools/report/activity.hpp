// SPDX-License-Identifier: Apache-2.0
// What a trace says about the scheduler as a whole: which worker was busy when, which joins could have gone on, which
// worker stole from which, and what a steal took.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tools/report/trace.hpp"
#include "tools/report/where.hpp"

namespace tobi_report {

struct pair_count {
  std::uint64_t ok = 0, failed = 0, bytes = 0;
};

struct activity {
  interval span;  // of all runs
  double bin_ns = 1;
  std::vector<double> busy;                          // mean number of workers in a task, a bin
  std::vector<double> ready;                         // mean number of joins that could go on and did not, a bin
  std::vector<double> utilisation;                   // of each worker: share of its runs spent in tasks
  std::map<std::pair<int, int>, pair_count> matrix;  // thief, victim: only pairs that met
  std::vector<std::uint64_t> latency;                // successful steals, by the power of two of their nanoseconds
  std::uint64_t steals_ok = 0, steals_failed = 0, stolen_bytes = 0;
  double steal_ns = 0;      // mean of the successful ones
  std::uint64_t joins = 0;  // that waited and were resumed
  where_time_went where;
  double join_ns = 0;  // mean time from ready to resumed (outstanding join time, CLUSTER 2022 section V-B)

  [[nodiscard]] double mean_utilisation() const;
};

activity analyse(const trace& t);
/// One object, for --json and for the comparison with the papers. NAME is the file's, without folder and ending.
nlohmann::ordered_json to_json(const trace& t, const activity& a);

}  // namespace tobi_report
