// SPDX-License-Identifier: Apache-2.0
// A chart of lines through points, with their names at its right.
#pragma once

#include <string>
#include <vector>

#include "tools/plot/chart.hpp"

namespace tobi_plot {

/// What one direction of the chart shows.
struct measure {
  std::string name;
  double base = 0;                         // of its powers; 0: linear, from 0
  std::string (*label)(double) = nullptr;  // null: the number
};

struct series {
  std::string name;
  std::vector<point> points;
  const char* colour = nullptr;  // null: the next one
  bool dashed = false;
};

/// The body of a picture. What a logarithmic direction cannot show is left out. Where nothing is left that is said, and
/// where there was nothing WHY.
std::string lines(const field& f, const std::string& title, const measure& across, const measure& up,
                  std::vector<series> all, const std::string& why);

}  // namespace tobi_plot
