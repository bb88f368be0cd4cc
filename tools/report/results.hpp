// SPDX-License-Identifier: Apache-2.0
// The lines that tobi-bench, tobi-perf and tobi-info print with --json, and lines that this tool makes of traces:
// objects whose fields are looked up by name, so that a program which is new needs nothing here.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tobi_report {

using line = nlohmann::ordered_json;

/// Appends the objects of FILE, one per line. Throws bad_input when it holds anything else.
void read_results(const std::string& file, std::vector<line>& into);

/// What is equal in repeats of one measurement, and in no others; "" where L is no run and no operation.
std::string key_of(const line& l);
/// The time that repeats are compared by. Of an operation that is posted by the window, its share of all time, since
/// that is what the bandwidth is; of others the median.
std::optional<double> time_of(const line& l);

/// Repeats as one: of each the one with the median time stays, with the fields "runs", "seconds_min" and "seconds_max".
/// Lines that are no runs and no operations stay as they are.
std::vector<line> medians(const std::vector<line>& lines);

/// app and parameters of a run of tobi-bench, or operation and transport of a row of tobi-perf, for people.
std::string title_of(const line& l);
/// Where and how it ran: workers, transport, scheduler, deque.
std::string setting_of(const line& l);
/// Both, what a row is among others.
std::string row_of(const line& l);

}  // namespace tobi_report
