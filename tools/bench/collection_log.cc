// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/collection_log.hpp"

#include <algorithm>
#include <cstddef>

namespace tobi_bench {

std::uint64_t collection_log::task_ns() const {
  std::uint64_t sum = 0;
  for (const executed_task& t : tasks_) sum += t.ended_ns - t.began_ns;
  return sum;
}

std::vector<double> collection_log::busy_ns(int bins, double length_ns) const {
  std::vector<double> busy(static_cast<std::size_t>(bins), 0.0);
  const double width = length_ns / bins;
  if (!(width > 0)) return busy;
  for (const executed_task& t : tasks_) {
    const auto began = static_cast<double>(t.began_ns);
    const auto ended = static_cast<double>(t.ended_ns);
    const auto last = std::min(busy.size() - 1, static_cast<std::size_t>(ended / width));
    for (std::size_t i = std::min(last, static_cast<std::size_t>(began / width)); i <= last; ++i) {
      const double from = std::max(began, width * static_cast<double>(i));
      const double to = i == last ? ended : std::min(ended, width * static_cast<double>(i + 1));
      busy[i] += std::max(0.0, to - from);
    }
  }
  return busy;
}

}  // namespace tobi_bench
