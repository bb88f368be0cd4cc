// SPDX-License-Identifier: Apache-2.0
// One transport, measured by this process and those that it forks. The rows go to standard output, for the process that
// gathers them.
#pragma once

#include "tools/perf/arguments.hpp"
#include "tools/perf/work.hpp"

namespace tobi_perf {

/// The operations of transports/transport.hpp, between two ranks.
int measure_operations(const arguments& a);
/// Steals and barriers, by programs of the public interface.
int measure_runtime(const arguments& a);

void emit(const row& r);
/// Facts about the measurement, for the head of the table.
void emit_note(const std::string& text);

}  // namespace tobi_perf
