// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fmm/mpi/partition.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace tobi_bench::fmm_mpi {

namespace {

/// Processes from FIRST on, and the bodies that they share.
struct group {
  int first, ranks;
  unsigned axis = 0;
  // Where the cut is looked for. What is left of LOW weighs BELOW.
  double low = 0, high = 0;
  double below = 0, all = 0;
};

double along(const laplace::vec3& at, unsigned axis) { return axis == 0 ? at.x : axis == 1 ? at.y : at.z; }

/// All groups of a level are cut at once, so there are as many collective calls as the levels need and no more.
class bisection {
 public:
  bisection(team& all, const particles& own, balance by) : all_(all), own_(own), by_(by), group_of_(own.size()) {
    groups_.push_back({0, all.size()});
  }

  /// Returns the process of each body.
  std::vector<int> run() {
    while (std::any_of(groups_.begin(), groups_.end(), [](const group& g) { return g.ranks > 1; })) {
      find_axes();
      for (int round = 0; round < rounds; ++round) narrow(round == 0);
      cut();
    }
    std::vector<int> rank_of(own_.size());
    for (std::size_t i = 0; i < own_.size(); ++i) rank_of[i] = groups_[group_of_[i]].first;
    return rank_of;
  }

 private:
  // A cut is exact to 2^-24 of the length of its group.
  static constexpr std::size_t bins = 256;
  static constexpr int rounds = 3;

  [[nodiscard]] double weight(std::size_t body) const { return by_ == balance::count ? 1.0 : own_.work[body]; }

  /// Along the longest side of the bodies of a group.
  void find_axes() {
    std::vector<double> sides(groups_.size() * 6, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < own_.size(); ++i) {
      double* const side = &sides[std::size_t{group_of_[i]} * 6];
      for (unsigned a = 0; a < 3; ++a) {
        const double x = along(own_.bodies[i].at, a);
        side[a] = std::min(side[a], x);
        side[3 + a] = std::min(side[3 + a], -x);
      }
    }
    all_.reduce_all(sides, MPI_MIN);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const double* const side = &sides[g * 6];
      const auto length = [&](unsigned a) { return -side[3 + a] - side[a]; };
      unsigned& axis = groups_[g].axis = 0;
      for (unsigned a = 1; a < 3; ++a) axis = length(a) > length(axis) ? a : axis;
      groups_[g].low = side[axis];
      groups_[g].high = std::nextafter(-side[3 + axis], std::numeric_limits<double>::infinity());
      groups_[g].below = 0;
    }
  }

  /// To the bin in which the cut is.
  void narrow(bool first) {
    std::vector<double> weights(groups_.size() * bins);
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const group& g = groups_[group_of_[i]];
      const double x = along(own_.bodies[i].at, g.axis);
      if (g.ranks == 1 || x < g.low || x >= g.high) continue;
      weights[group_of_[i] * bins + std::min(bins - 1, bin_of(g, x))] += weight(i);
    }
    all_.reduce_all(weights, MPI_SUM);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      group& g = groups_[i];
      const double* const w = &weights[i * bins];
      if (first) g.all = std::accumulate(w, w + bins, 0.0);
      const double left = g.all * (g.ranks / 2) / g.ranks, step = (g.high - g.low) / bins;
      std::size_t bin = 0;
      while (bin + 1 < bins && g.below + w[bin] < left) g.below += w[bin++];
      const double begin = g.low;
      g.low = begin + static_cast<double>(bin) * step;
      g.high = bin + 1 == bins ? g.high : begin + static_cast<double>(bin + 1) * step;
    }
  }
  static std::size_t bin_of(const group& g, double x) {
    return static_cast<std::size_t>((x - g.low) / (g.high - g.low) * bins);
  }

  void cut() {
    std::vector<group> halves;
    std::vector<std::uint32_t> left_of(groups_.size());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const group& g = groups_[i];
      left_of[i] = static_cast<std::uint32_t>(halves.size());
      const int left = g.ranks / 2;
      if (left > 0) halves.push_back({g.first, left});
      halves.push_back({g.first + left, g.ranks - left});
    }
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const group& g = groups_[group_of_[i]];
      const bool is_right = g.ranks > 1 && along(own_.bodies[i].at, g.axis) >= g.high;
      group_of_[i] = left_of[group_of_[i]] + (is_right ? 1 : 0);
    }
    groups_.swap(halves);
  }

  team& all_;
  const particles& own_;
  const balance by_;
  std::vector<group> groups_;
  std::vector<std::uint32_t> group_of_;  // of each body
};

/// A body that goes to another process. Fields are computed anew.
struct traveller {
  laplace::body body;
  laplace::vec3 velocity;
  std::uint64_t number;
  double work;
};

void exchange(team& all, particles& own, const std::vector<int>& rank_of) {
  const auto size = static_cast<std::size_t>(all.size());
  std::vector<int> sent(size), received(size), send_at(size), receive_at(size);
  for (const int rank : rank_of) ++sent[static_cast<std::size_t>(rank)];
  all.waiting([&] { MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, all.all()); });
  std::exclusive_scan(sent.begin(), sent.end(), send_at.begin(), 0);
  std::exclusive_scan(received.begin(), received.end(), receive_at.begin(), 0);
  std::vector<traveller> out(own.size());
  auto next = send_at;
  for (std::size_t i = 0; i < own.size(); ++i) {
    out[static_cast<std::size_t>(next[static_cast<std::size_t>(rank_of[i])]++)] = {own.bodies[i], own.velocities[i],
                                                                                   own.numbers[i], own.work[i]};
  }
  std::vector<traveller> in(static_cast<std::size_t>(receive_at.back() + received.back()));
  const datatype_of<traveller> type;
  all.waiting([&] {
    MPI_Alltoallv(out.data(), sent.data(), send_at.data(), type.get(), in.data(), received.data(), receive_at.data(),
                  type.get(), all.all());
  });
  own.resize(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    own.bodies[i] = in[i].body;
    own.velocities[i] = in[i].velocity;
    own.numbers[i] = in[i].number;
    own.work[i] = in[i].work;
  }
}

}  // namespace

void partition(team& all, particles& own, balance by) {
  if (all.size() == 1) return;
  exchange(all, own, bisection(all, own, by).run());
}

}  // namespace tobi_bench::fmm_mpi
