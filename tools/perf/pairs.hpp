// SPDX-License-Identifier: Apache-2.0
// Several pairs at once (--pairs), each of which measures as one pair does. Rank i of the first half works on the
// memory of rank i of the second half, as in the benchmarks of MPI, so that pairs lie across two hosts that a launcher
// fills one after the other.
#pragma once

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "tools/perf/work.hpp"

namespace tobi_perf {

/// The two ranks of this process's pair, as a job of two. Every call is collective over all pairs, which do the same in
/// the same order.
class pair final : public tobi::bootstrap::bootstrap {
 public:
  explicit pair(std::unique_ptr<tobi::bootstrap::bootstrap> all);

  [[nodiscard]] std::string_view name() const noexcept override { return all_->name(); }
  [[nodiscard]] int rank() const noexcept override { return all_->rank() < pairs() ? 0 : 1; }
  [[nodiscard]] int size() const noexcept override { return 2; }
  void put(std::string_view key, std::span<const std::byte> value) override { all_->put(key, value); }
  [[nodiscard]] std::vector<std::byte> get(int rank, std::string_view key) override {
    return all_->get(rank_in_job(rank), key);
  }
  void fence() override;
  void least(std::span<std::uint64_t> words) override { all_->least(words); }
  [[noreturn]] void abort(int exit_status) noexcept override {
    all_->abort(exit_status);
    std::_Exit(exit_status);
  }
  void finalize() override;
  [[nodiscard]] std::span<const int> local_peers() const noexcept override { return local_; }
  [[nodiscard]] std::span<const int> nodes() const noexcept override { return nodes_; }

  [[nodiscard]] int pairs() const noexcept { return all_->size() / 2; }
  [[nodiscard]] int rank_in_job(int rank) const noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  /// Which of the job's processes on this node this one is.
  [[nodiscard]] int place_on_node() const noexcept;
  /// Returns when both ranks of all pairs are here. SAYS is for sum().
  void meet(const std::string& says = "");
  /// What the first rank of each pair said when they met last, as one row: work over time of all, the least and the
  /// most of all, the median of medians, the mean of means.
  [[nodiscard]] row sum();

 private:
  std::unique_ptr<tobi::bootstrap::bootstrap> all_;
  std::array<int, 2> ranks_;
  std::vector<int> nodes_;
  std::vector<int> local_;
  std::string met_;  // the key of the last meeting
  int meetings_ = 0;
};

}  // namespace tobi_perf
