// SPDX-License-Identifier: Apache-2.0
// How long tasks took, in bins: HPDC'12, section 5. A rank keeps a number of 16 bits for each task that it has
// executed, and a balancer reads from these how many tasks there are of about each time. So what is kept is Θ(n) small
// numbers and b bins, and what is sent of a bin is one entry, whatever the number of its tasks.
//
// A time is truncated to its nine leading binary digits, which is a step of 0.4 % at most: its code. A balancer may
// want fewer bins than there are codes, and joins neighbours.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tobi::pool {

/// Of a time in nanoseconds. Codes are in the order of times.
using time_code = std::uint16_t;
/// The code of a task whose time is not known: it was never begun.
inline constexpr time_code no_time = 0xffff;
inline constexpr unsigned codes_per_doubling = 256;

[[nodiscard]] constexpr time_code code_of(std::uint64_t ns) noexcept {
  if (ns < codes_per_doubling) return static_cast<time_code>(ns);
  const auto cut = static_cast<unsigned>(std::bit_width(ns)) - 9;  // digits that are left away
  return static_cast<time_code>(codes_per_doubling * cut + static_cast<unsigned>(ns >> cut));
}
static_assert(code_of(255) + 1 == code_of(256) && code_of(511) + 1 == code_of(512) && code_of(~0ull) < no_time);

/// What a balancer reads of codes: PER_DOUBLING bins between a time and twice that time, a power of two up to
/// codes_per_doubling. Below 256 ns bins are all as wide as there.
class time_bins {
 public:
  explicit constexpr time_bins(unsigned per_doubling) noexcept
      : shift_(std::countr_zero(codes_per_doubling) - std::countr_zero(per_doubling)) {}

  [[nodiscard]] constexpr std::uint32_t bin_of(time_code code) const noexcept { return std::uint32_t{code} >> shift_; }
  /// What a task of BIN is taken to take: the middle of the bin, and never nothing.
  [[nodiscard]] constexpr double ns_of(std::uint32_t bin) const noexcept {
    return std::max((least_of(bin << shift_) + least_of((bin + 1) << shift_)) / 2, 1.0);
  }

 private:
  // The shortest time of a code.
  [[nodiscard]] static constexpr double least_of(std::uint32_t code) noexcept {
    if (code < codes_per_doubling) return code;
    const std::uint32_t cut = code / codes_per_doubling - 1;
    double least = code - codes_per_doubling * cut;
    for (std::uint32_t i = 0; i < cut; ++i) least *= 2;
    return least;
  }

  int shift_;
};

/// Tasks of one bin.
struct bin_count {
  std::uint32_t bin;
  std::uint64_t count;
};

/// How many of a rank's tasks are in each bin.
class binned_times {
 public:
  explicit binned_times(time_bins bins) noexcept : bins_(bins) {}

  void add(time_code code, std::uint64_t count = 1) { add_bin(bins_.bin_of(code), count); }
  void add_bin(std::uint32_t bin, std::uint64_t count) {
    if (count == 0) return;
    tasks_ += count;
    load_ns_ += bins_.ns_of(bin) * static_cast<double>(count);
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), bin,
                                     [](const bin_count& e, std::uint32_t wanted) { return e.bin < wanted; });
    if (at != entries_.end() && at->bin == bin) {
      at->count += count;
    } else {
      entries_.insert(at, {bin, count});
    }
  }

  [[nodiscard]] const time_bins& bins() const noexcept { return bins_; }
  /// The shortest times first, those that have tasks.
  [[nodiscard]] const std::vector<bin_count>& entries() const noexcept { return entries_; }
  [[nodiscard]] std::uint64_t tasks() const noexcept { return tasks_; }
  /// What all of them are taken to take.
  [[nodiscard]] double load_ns() const noexcept { return load_ns_; }

 private:
  time_bins bins_;
  std::vector<bin_count> entries_;
  std::uint64_t tasks_ = 0;
  double load_ns_ = 0;
};

}  // namespace tobi::pool
