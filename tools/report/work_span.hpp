// SPDX-License-Identifier: Apache-2.0
// Work and span of a program (TOBI_WORK_SPAN), and what follows for any number of workers.
//
// P workers take at least max(work / P, span). Where the scheduler is greedy they take at most work / P + span (1 -
// 1/P) (Brent 1974, Graham 1969), and the span is the burdened one here: each fork and join of the path costs a steal.
// The two say what one run on one worker can say: that caches and networks are slower when many use them is not in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/results.hpp"

namespace tobi_report {

/// Seconds with so many workers.
struct bounds {
  unsigned workers = 1;
  double at_least = 0;
  double at_most = 0;
  std::optional<double> measured;
};

/// One run of a program, or all that it made, one behind the other.
struct work_span {
  double work_s = 0;
  double span_s = 0;
  double burdened_s = 0;  // the span where a steal costs what was asked for
  double forks = 0;
  double forks_on_span = 0;
  [[nodiscard]] double parallelism() const { return span_s > 0 ? work_s / span_s : 0; }
};

/// What the user has measured and wants to know.
struct span_question {
  double steal_ns = 2000;
  std::vector<bounds> measured;  // workers and measured
};

struct prediction {
  work_span all;
  std::vector<work_span> runs;  // the first thousand
  double number_of_runs = 0;
  double outside_s = 0;      // of runs, on one worker
  double taken_off_s = 0;    // from the work, as the cost of measuring
  double too_much_s = 0;     // of the work, compared with what was measured on one worker
  double interruptions = 0;  // the process was put off its core so often
  double steal_ns = 0;
  std::vector<bounds> rows;
};

/// Of a line of kind work_span. Throws bad_input where it does not have what is asked for.
prediction predict(const line& measured, const span_question& asked);

void print_prediction(const std::string& file, const prediction& p);
/// A chart and a table.
std::string prediction_of(const std::string& file, const prediction& p);
line to_json(const prediction& p);

/// "4=0.31": workers and seconds. Throws bad_input.
bounds parse_measured(const std::string& text);
/// "2us" to nanoseconds. Throws bad_input.
double parse_duration_ns(const std::string& text);

}  // namespace tobi_report
