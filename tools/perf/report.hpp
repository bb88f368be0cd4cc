// SPDX-License-Identifier: Apache-2.0
// What is said about the rows, as they come.
#pragma once

#include "tools/perf/arguments.hpp"
#include "tools/perf/work.hpp"

namespace tobi_perf {

void print_heading(const arguments& a);
/// One row of the table, or with --json one object; why it was not measured, where it was not.
void print_row(const arguments& a, const row& r);

/// Median latency against size on logarithmic axes, a line per transport. False when FILE cannot be written.
bool write_plot(const std::string& file, const std::string& title, const std::vector<row>& rows);

}  // namespace tobi_perf
