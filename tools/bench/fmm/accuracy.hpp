// SPDX-License-Identifier: Apache-2.0
// How exact the fields are that a fast multipole method finds.
#pragma once

#include <algorithm>
#include <cmath>

namespace tobi_bench {

/// Relative errors, in the L2 norm over all bodies that were looked at.
struct fmm_errors {
  double potential = 0;
  double force = 0;
};

/// The largest errors that are right for an expansion of ORDER and for THETA, by which the error goes down with each
/// order. The force, a derivative, is exact to one order less, and low orders are worse than a geometric series. With
/// order 4 and a theta of 0.2 these are 8e-5 and 1.6e-3, where exafmm-beta allows 5e-4 and 5e-3. What was measured with
/// thetas from 0.1 to 0.5 was below two fifths of them in a cluster, and below a tenth in a cube, for most orders.
inline fmm_errors largest_errors(unsigned order, double theta) {
  constexpr double rounding = 1e-11;
  const double scale = 0.05 * (order < 4 ? std::pow(2.5, 4 - order) : 1.0) * std::pow(theta, order - 1.0);
  return {scale * theta + rounding, 4 * scale + rounding};
}

}  // namespace tobi_bench
