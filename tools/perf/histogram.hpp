// SPDX-License-Identifier: Apache-2.0
// How many samples of a row took how long, as lines of text.
#pragma once

#include <string>
#include <vector>

namespace tobi_perf {

/// A line for each fourth of a doubling of time, from the shortest sample to the longest; those without a sample are
/// left out. NS: of at least one operation, of which none is 0.
[[nodiscard]] std::vector<std::string> histogram_of(const std::vector<double>& ns);

}  // namespace tobi_perf
