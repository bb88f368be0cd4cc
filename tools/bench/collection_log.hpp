// SPDX-License-Identifier: Apache-2.0
// What this worker has executed in an iteration, with the time of each task: of it come the null tasks, the counts of
// executions and the utilisation over time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace tobi_bench {

struct executed_task {
  std::uint64_t number;
  bool null;
  std::uint64_t began_ns, ended_ns;  // behind the begin of the iteration
};

class collection_log {
 public:
  void begin() {
    tasks_.clear();
    start_ = std::chrono::steady_clock::now();
  }
  template <class F>
  void execute(std::uint64_t number, F task) {
    const std::uint64_t began = now_ns();
    const bool null = !task();
    tasks_.push_back({number, null, began, now_ns()});
  }
  [[nodiscard]] std::uint64_t now_ns() const {
    const auto since = std::chrono::steady_clock::now() - start_;
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
  }
  [[nodiscard]] const std::vector<executed_task>& tasks() const noexcept { return tasks_; }
  [[nodiscard]] std::uint64_t task_ns() const;
  /// Returns how many nanoseconds of each of BINS equal parts of LENGTH_NS were spent in tasks.
  [[nodiscard]] std::vector<double> busy_ns(int bins, double length_ns) const;

 private:
  std::vector<executed_task> tasks_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tobi_bench
