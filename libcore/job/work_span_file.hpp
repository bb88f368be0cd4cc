// SPDX-License-Identifier: Apache-2.0
// TOBI_WORK_SPAN=FILE: what was measured, as one line of JSON, which tobi-report reads.
#pragma once

#include <cstdint>
#include <string>

#include "libcore/trace/work_span.hpp"

namespace tobi::job {

/// The line. JOB_NS: how long the job has taken, runs and all.
[[nodiscard]] std::string work_span_line(const trace::measured_program& program, std::uint64_t job_ns);

}  // namespace tobi::job
