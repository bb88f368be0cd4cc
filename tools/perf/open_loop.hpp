// SPDX-License-Identifier: Apache-2.0
// Operations under a given load (--load). They are due at fixed times, whatever became of those before, and their
// latency counts from these times. A loop in which each operation waits for the one before it would issue fewer while
// the fabric is slow, and so leave out the latencies that matter: coordinated omission.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tobi_perf {

class schedule {
 public:
  /// INTERVAL_NS 0: all are due at once.
  schedule(double interval_ns, std::uint64_t count) noexcept : interval_ns_(interval_ns), count_(count) {}

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] double due_ns(std::uint64_t operation) const noexcept {
    return interval_ns_ * static_cast<double>(operation);
  }
  /// How many are due NOW_NS after the begin.
  [[nodiscard]] std::uint64_t due_by(double now_ns) const noexcept {
    if (interval_ns_ <= 0 || now_ns >= due_ns(count_)) return count_;
    return std::min(static_cast<std::uint64_t>(std::max(now_ns, 0.0) / interval_ns_) + 1, count_);
  }

 private:
  double interval_ns_;
  std::uint64_t count_;
};

/// Does what PLAN says: whatever is due is done at once, MOST_TOGETHER at most. NOW() is the time since the begin;
/// DO_SOME does so many and returns when they are complete; WAIT is called while nothing is due. NS gets the latency of
/// each, from when it was due. False: DO_SOME was.
template <class Now, class DoSome, class Wait>
bool follow(const schedule& plan, std::uint64_t most_together, Now now, DoSome do_some, Wait wait,
            std::vector<double>& ns) {
  for (std::uint64_t next = 0; next < plan.count();) {
    const std::uint64_t due = std::min(plan.due_by(now()), next + most_together);
    if (due <= next) {
      wait();
      continue;
    }
    if (!do_some(due - next)) return false;
    for (const double end = now(); next < due; ++next) ns.push_back(end - plan.due_ns(next));
  }
  return true;
}

/// A load as the user gives it.
struct load {
  double value;
  bool is_share;  // of the rate that is reached when all are due at once; else operations per second

  [[nodiscard]] double interval_ns(double most_per_second) const noexcept {
    return 1e9 / (is_share ? value * most_per_second : value);
  }
};
/// "50%", or operations per second such as "20000" or "1.5M". None: it is neither, or it is 0.
[[nodiscard]] std::optional<load> parse_load(const std::string& text);

}  // namespace tobi_perf
