// SPDX-License-Identifier: Apache-2.0
// Numbers with their units, for people: three digits that mean something.
#pragma once

#include <optional>
#include <string>

#include "tools/perf/rounds.hpp"

namespace tobi_perf {

/// "12.3 us".
[[nodiscard]] std::string time_text(double ns);
/// "12.1 us to 12.4 us", or "-".
[[nodiscard]] std::string times_text(const std::optional<interval>& ns);
/// "1.25 GB/s".
[[nodiscard]] std::string bandwidth_text(double bytes_per_second);
/// "2.31 M/s".
[[nodiscard]] std::string rate_text(double per_second);
/// "2.5K": bytes that need not be a whole number.
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace tobi_perf
