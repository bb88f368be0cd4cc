// SPDX-License-Identifier: Apache-2.0
// What is said on the terminal, and the page.
#pragma once

#include <string>
#include <vector>

#include "tools/report/activity.hpp"
#include "tools/report/papers.hpp"

namespace tobi_report {

struct traced {
  trace read;
  activity seen;
};

void print_trace(const traced& t);
void print_results(const std::vector<line>& lines);
/// Of tobi-perf; the time is what time_of() says.
void print_operations(const std::vector<line>& lines);
void print_comparisons(const std::vector<comparison>& all);

/// Of tobi-bench ramp, a table of times in leaves; "" where there is none.
void print_ramp(const std::vector<line>& lines);
std::string ramp_of(const std::vector<line>& lines);
/// Of runs on global memory, a table and their times as stacked bars; "" where there is none.
std::string global_memory_of(const std::vector<line>& lines);
/// The bars alone, of runs that have such times.
std::string bars_of(const std::vector<line>& runs);

/// How large and where the runs were from which LINES come, in one sentence: workers, nodes, transports, and of each
/// program its parameters from the least to the largest.
std::string taken(const std::vector<line>& lines);
/// The whole page: nothing in it refers to anything outside. WORK_SPAN is a part of it, or "".
std::string page(const std::vector<traced>& traces, const std::vector<line>& results,
                 const std::vector<comparison>& papers, const std::string& work_span);

}  // namespace tobi_report
