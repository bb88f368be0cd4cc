// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

namespace tobi_perf {

std::vector<std::string> histogram_of(const std::vector<double>& ns) {
  constexpr double per_doubling = 4;
  constexpr std::size_t longest_bar = 40;
  constexpr double least_ns = 0.01;
  std::map<int, std::size_t> counts;
  for (const double one : ns) {
    ++counts[static_cast<int>(std::floor(std::log2(std::max(one, least_ns)) * per_doubling))];
  }
  std::size_t most = 0;
  for (const auto& [at, count] : counts) most = std::max(most, count);
  std::vector<std::string> lines;
  std::size_t below = 0;
  for (const auto& [at, count] : counts) {
    below += count;
    const auto from_us = [](int place) { return std::exp2(place / per_doubling) / 1000; };
    lines.push_back(fmt::format("{:>12.4g} to {:>10.4g} us {:>9} {:>7.3f} % {}", from_us(at), from_us(at + 1), count,
                                100 * static_cast<double>(below) / static_cast<double>(ns.size()),
                                std::string(std::max<std::size_t>(1, count * longest_bar / most), '#')));
  }
  return lines;
}

}  // namespace tobi_perf
