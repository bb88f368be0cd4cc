// SPDX-License-Identifier: Apache-2.0
// The curves of a figure, theirs next to ours. papers.json says of each what goes across and upwards, which lines of
// ours are its points, and by which of their fields these are told apart:
//
//   {"title": "...",
//    "across": {"name": "workers", "at": "/workers", "log": 2},
//    "up": {"name": "efficiency", "at": "/efficiency"},
//    "ours": [{"match": {...}, "by": ["/sched"]}], "compared_with": {"/sched": "..."},
//    "theirs": [{"label": "ITO-A", "points": [[576, 0.97]]}, {"label": "at most", "level": 1.4, "like": "child_full"}]}
//
// "like" gives one of theirs the colour of that of ours whose name has these words. With "compared_with" a point is its
// value over that of the line with the same place across that has these fields.
#pragma once

#include <string>
#include <vector>

#include "tools/plot/lines.hpp"
#include "tools/report/results.hpp"

namespace tobi_report {

struct chart {
  std::string title;
  tobi_plot::measure across, up;
  std::vector<tobi_plot::series> ours, theirs;
};

/// Of one entry of "curves".
chart chart_of(const line& spec, const std::vector<line>& ours, double ghz);

/// An SVG.
std::string drawn(const chart& c);

}  // namespace tobi_report
