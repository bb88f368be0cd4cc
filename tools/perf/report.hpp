// SPDX-License-Identifier: Apache-2.0
// What is said about the rows, as they come.
#pragma once

#include "tools/perf/arguments.hpp"
#include "tools/perf/work.hpp"

namespace tobi_perf {

/// The heading of the table, or with --json the object that says where and how the rows were measured.
void print_heading(const arguments& a);
/// What is to be known of the rows behind it: the transport, the cores.
void print_note(const arguments& a, const std::string& text);
/// One row of the table, or with --json one object; why it was not measured, where it was not.
void print_row(const arguments& a, const row& r);

/// Median latency against size on logarithmic axes, a line per transport. False when FILE cannot be written.
bool write_plot(const std::string& file, const std::string& title, const std::vector<row>& rows);

}  // namespace tobi_perf
