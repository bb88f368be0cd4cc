// SPDX-License-Identifier: Apache-2.0
// What a rank has executed in a process(), and about how long each task took: HPDC'12, section 5, the database of
// tasks.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "libcore/pool/binned_times.hpp"

namespace tobi::pool {

class executed_tasks {
 public:
  explicit executed_tasks(std::size_t record_bytes) : record_bytes_(record_bytes) {}

  void add(const std::byte* record, time_code took) {
    records_.insert(records_.end(), record, record + record_bytes_);
    times_.push_back(took);
  }
  void clear() noexcept {
    records_.clear();
    times_.clear();
  }
  [[nodiscard]] std::size_t count() const noexcept { return times_.size(); }
  [[nodiscard]] const std::byte* record(std::size_t i) const noexcept { return records_.data() + i * record_bytes_; }
  [[nodiscard]] time_code time(std::size_t i) const noexcept { return times_[i]; }
  /// Moves the tasks for which GOES returns true to the place that PLACE names, and closes the gaps.
  template <class Goes, class Place>
  void take_out(Goes goes, Place place) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count(); ++i) {
      if (goes(i)) {
        std::memcpy(place(i), record(i), record_bytes_);
        continue;
      }
      if (kept != i) std::memcpy(records_.data() + kept * record_bytes_, record(i), record_bytes_);
      times_[kept++] = times_[i];
    }
    times_.resize(kept);
    records_.resize(kept * record_bytes_);
  }

 private:
  std::size_t record_bytes_;
  std::vector<std::byte> records_;
  std::vector<time_code> times_;
};

}  // namespace tobi::pool
