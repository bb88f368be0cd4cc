// SPDX-License-Identifier: Apache-2.0
// What several samples of one quantity say, for all tools alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace tobi_tools {

struct summary {
  double min = 0, median = 0, mean = 0, p99 = 0, p999 = 0, max = 0;
  double deviation = 0;  // standard, of the samples
  std::size_t samples = 0;

  /// Whether a percentile says something: at least ten samples lie beyond it.
  [[nodiscard]] bool has_percentile(double share) const {
    return static_cast<double>(samples) * (1 - share) >= 10 - 1e-6;
  }
};

namespace detail {

inline double middle_of(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// The smallest sample that is not below SHARE of all of them.
inline double at_share(const std::vector<double>& sorted, double share) {
  const auto n = static_cast<double>(sorted.size());
  const auto i = static_cast<std::size_t>(std::max(0.0, std::ceil(share * n) - 1));
  return sorted[std::min(i, sorted.size() - 1)];
}

}  // namespace detail

/// Of at least one sample; of an even number the mean of the two in the middle.
inline double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return detail::middle_of(samples);
}

/// Of at least one sample.
inline double mean(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

/// Of at least one sample.
inline summary summarize(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const double middle = mean(samples);
  double squares = 0;
  for (const double s : samples) squares += (s - middle) * (s - middle);
  const auto n = static_cast<double>(samples.size());
  return {samples.front(),
          detail::middle_of(samples),
          middle,
          detail::at_share(samples, 0.99),
          detail::at_share(samples, 0.999),
          samples.back(),
          samples.size() > 1 ? std::sqrt(squares / (n - 1)) : 0,
          samples.size()};
}

}  // namespace tobi_tools
