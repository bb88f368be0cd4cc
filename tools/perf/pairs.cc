// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tobi_perf {

pair::pair(std::unique_ptr<tobi::bootstrap::bootstrap> all) : all_(std::move(all)) {
  const int first = all_->rank() % pairs();
  ranks_ = {first, first + pairs()};
  const std::span<const int> nodes = all_->nodes();
  const auto of = [&](int r) { return nodes[static_cast<std::size_t>(rank_in_job(r))]; };
  nodes_ = {0, of(0) == of(1) ? 0 : 1};
  local_ = nodes_[1] == 0 ? std::vector{0, 1} : std::vector{rank()};
}

void pair::fence() {
  all_->while_waiting(move_);
  all_->fence();
}

void pair::finalize() {
  all_->while_waiting(move_);
  all_->finalize();
}

// In the order of pairs, so that the two of one that is on this node do not share a core.
int pair::place_on_node() const noexcept {
  const std::span<const int> nodes = all_->nodes();
  const auto turn = [this](int r) { return 2 * (r % pairs()) + r / pairs(); };
  int place = 0;
  for (int r = 0; r < all_->size(); ++r) {
    const bool here = nodes[static_cast<std::size_t>(r)] == nodes[static_cast<std::size_t>(all_->rank())];
    if (here && turn(r) < turn(all_->rank())) ++place;
  }
  return place;
}

void pair::meet(const std::string& says) {
  met_ = "met" + std::to_string(meetings_++);
  all_->put(met_, std::as_bytes(std::span(says.data(), says.size())));
  fence();
}

row pair::sum() {
  row all;
  std::vector<double> medians;
  std::vector<double> variances;
  double per_second = 0;
  for (int p = 0; p < pairs(); ++p) {
    const std::vector<std::byte> said = all_->get(p, met_);
    row one;
    if (!from_line({reinterpret_cast<const char*>(said.data()), said.size()}, one) || !one.ns) return one;
    if (p == 0) {
      all = one;
      all.median_within.reset();  // a median of medians has none
      all.iterations = 0;
      all.ns->samples = 0;
      all.ns->mean = 0;
      all.cpu = {0, 0};
    }
    if (all.disturbance.empty() && !one.disturbance.empty()) {
      all.disturbed = one.disturbed;
      all.disturbance = one.disturbance;
    }
    medians.push_back(one.ns->median);
    variances.push_back(one.ns->deviation * one.ns->deviation);
    per_second += one.per_second();
    all.iterations += one.iterations;
    all.operations_per_sample = std::max(all.operations_per_sample, one.operations_per_sample);
    all.ns->samples += one.ns->samples;
    all.ns->mean += one.ns->mean / pairs();
    all.ns->min = std::min(all.ns->min, one.ns->min);
    all.ns->max = std::max(all.ns->max, one.ns->max);
    all.ns->p99 = std::max(all.ns->p99, one.ns->p99);
    all.ns->p999 = std::max(all.ns->p999, one.ns->p999);
    for (std::size_t i = 0; i < 2; ++i) (*all.cpu)[i] += one.cpu.value_or(std::array<double, 2>{})[i] / pairs();
  }
  all.ns->median = tobi_tools::median(medians);
  all.ns->deviation = std::sqrt(tobi_tools::mean(variances));
  all.all_per_second = per_second;
  all.pairs = pairs();
  return all;
}

}  // namespace tobi_perf
