// SPDX-License-Identifier: Apache-2.0
// One worker's clock in terms of another's, from a ping-pong of time stamps at the start and at the end of a job.
//
// The reference notes `sent`, the other reads its own clock (`stamp`) after it has seen that, and the reference notes
// `received` after it has seen the answer. So, whatever the two ways took and however unlike they were, the other's
// clock minus the reference's is between stamp - received and stamp - sent at that moment. Every exchange gives such a
// range; the difference is in all of them, so what is known is their intersection. Its middle is the estimate, and half
// its width is a bound on the error, not a guess.
//
// Between the two moments the difference is taken to be linear (two crystals at constant temperatures). A point on the
// line between two values that err by at most a and b errs by at most max(a, b): that is the bound recorded. What it
// does not cover is a rate that changes under way, which no measurement at the ends can see.
#pragma once

#include <cstdint>
#include <span>

namespace tobi::trace {

/// Sent and received by the reference's clock, stamp by the other's; nanoseconds.
struct clock_exchange {
  std::uint64_t sent;
  std::uint64_t stamp;
  std::uint64_t received;
};

/// The other's clock minus the reference's, when the other's shows AT.
struct clock_offset {
  std::uint64_t at = 0;
  std::int64_t offset_ns = 0;
  std::uint64_t error_ns = 0;
};

/// EXCHANGES of one ping-pong, at least one. A clock that was set or slewed meanwhile makes the intersection empty;
/// then the narrowest range alone counts.
[[nodiscard]] clock_offset estimate_offset(std::span<const clock_exchange> exchanges) noexcept;

/// The way from a worker's clock to the reference's. The default is for clocks that are one.
class clock_line {
 public:
  clock_line() = default;
  clock_line(const clock_offset& first, const clock_offset& last) noexcept;

  /// Monotone in NS, so that intervals that nest still do.
  [[nodiscard]] double to_reference(std::uint64_t ns) const noexcept;
  [[nodiscard]] std::int64_t offset_ns() const noexcept { return offset_; }  // at the first measurement
  [[nodiscard]] double drift_ppm() const noexcept { return drift_ * 1e6; }
  [[nodiscard]] std::uint64_t error_ns() const noexcept { return error_; }

 private:
  std::uint64_t at_ = 0;
  std::int64_t offset_ = 0;
  double drift_ = 0;  // growth of the offset in a nanosecond
  std::uint64_t error_ = 0;
};

}  // namespace tobi::trace
