// SPDX-License-Identifier: Apache-2.0
// Several hosts: each process that a launcher has started, or that has met the others, says what it found, and process
// 0 tells in what they differ. They are not made one job, since what differs may be what forbids that.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "tools/info/gather.hpp"

namespace tobi_info {

/// The lines of kind `host` and `difference`, on process 0; none on others. LINES are what this process found. All
/// processes call it.
std::vector<json> compare_hosts(tobi::bootstrap::exchange& processes, const std::vector<json>& lines);

}  // namespace tobi_info
