// SPDX-License-Identifier: Apache-2.0
// The figures of a trace, each an SVG that stands alone.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "tools/report/activity.hpp"

namespace tobi_report {

/// activity: CLUSTER 2022, figure 7. time: what all workers did, over time. steals: which worker stole from which.
/// utilisation: a bar per worker. latency: of successful steals. phases: uni-address paper, figure 10.
inline constexpr std::array<std::string_view, 6> figure_names{"activity",    "time",    "steals",
                                                              "utilisation", "latency", "phases"};

/// NAME is one of figure_names.
std::string figure(std::string_view name, const trace& t, const activity& a);

}  // namespace tobi_report
