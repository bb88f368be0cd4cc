// SPDX-License-Identifier: Apache-2.0
// One transport, measured by this process and those that it forks. The rows go to standard output, for the process that
// gathers them.
#pragma once

#include "libcore/base/settings.hpp"
#include "tools/perf/arguments.hpp"
#include "tools/perf/work.hpp"

namespace tobi_perf {

/// The operations of transports/transport.hpp, between two ranks.
int measure_operations(arguments a);
/// How many processes that takes, with those that serve.
[[nodiscard]] int processes_with_servers(const arguments& a, const tobi::base::settings& in_force);
/// Steals and barriers, by programs of the public interface.
int measure_runtime(const arguments& a);

/// Where rows go, and facts about the measurement: to the process that gathers them, or to people.
struct sink {
  void (*row)(const arguments& a, const tobi_perf::row& r);
  void (*note)(const arguments& a, const std::string& text);
};
/// A stays until the process ends.
void emit_to(const arguments& a, sink where);
void emit(const row& r);
void emit_note(const std::string& text);
/// Whether all rows that this process has emitted were measured.
[[nodiscard]] bool all_measured() noexcept;

}  // namespace tobi_perf
