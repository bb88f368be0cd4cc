// SPDX-License-Identifier: Apache-2.0
// What a job pays before its first operation: rows of what happens once, and of registering memory by size.
#pragma once

#include <vector>

#include "tools/perf/lane.hpp"
#include "tools/perf/work.hpp"

namespace tobi_perf {

/// A row each, of one sample.
[[nodiscard]] std::vector<row> once(const tobi::transports::transport& fabric, const set_up_part& creating,
                                    const std::vector<set_up_part>& parts);
/// On both ranks, when FABRIC is connected: registers and forgets memory that has been written, again and again.
[[nodiscard]] std::vector<row> time_registration(tobi::transports::transport& fabric);

}  // namespace tobi_perf
