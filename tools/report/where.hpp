// SPDX-License-Identifier: Apache-2.0
// Where the workers' time went, as a whole and in each phase of the program, and what limits it.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/report/trace.hpp"

namespace tobi_report {

/// Nanoseconds by doing.
using times = std::array<double, doings>;
double all_of(const times& t);
/// Of them all; 0 where there are none.
double share(const times& t, doing what);
/// As people and as programs read it.
const char* words_for(doing what);
const char* name_for(doing what);

/// All parts of the program that have one name.
struct phase {
  std::string name;
  std::uint64_t times = 0;  // that it began
  double seconds = 0;       // by the clock
  tobi_report::times time{};
  std::uint64_t fetched_bytes = 0, written_bytes = 0;
};

struct where_time_went {
  times all{};
  std::vector<times> workers;
  std::vector<std::array<double, doings>> over_time;  // shares, in equal parts of the span
  std::vector<phase> phases;                          // those of tobi::begin_phase, else the runs, if there are several
  double one_busy = 0;                                // share of the span in which at most one worker had a task
  doing limit = doing::computing;
  std::string sentence;  // what limits the program, and what to do
};

/// SPAN: of all runs.
where_time_went divide_time(const trace& t, const interval& span);
nlohmann::ordered_json to_json(const trace& t, const where_time_went& w);
void print_where(const trace& t, const where_time_went& w);
/// A part of the page.
std::string where_of(const trace& t, const where_time_went& w);

}  // namespace tobi_report
