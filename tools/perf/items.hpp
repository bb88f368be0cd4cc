// SPDX-License-Identifier: Apache-2.0
// Which rows an operation of the command line is made of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/perf/arguments.hpp"
#include "tools/perf/open_loop.hpp"
#include "tools/perf/work.hpp"

namespace tobi_perf {

/// A row of each lane.
struct item {
  std::string op;
  work todo;
  std::optional<load> under = {};  // with a schedule
};

[[nodiscard]] std::vector<item> items_of(const arguments& a);

}  // namespace tobi_perf
