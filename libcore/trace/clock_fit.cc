// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/clock_fit.hpp"

#include <algorithm>

namespace tobi::trace {

namespace {

// Of clocks that may have started years apart: wraps to the right sign.
std::int64_t difference(std::uint64_t a, std::uint64_t b) noexcept { return static_cast<std::int64_t>(a - b); }

}  // namespace

clock_offset estimate_offset(std::span<const clock_exchange> exchanges) noexcept {
  const clock_exchange& first = exchanges.front();
  std::int64_t low = difference(first.stamp, first.received);
  std::int64_t high = difference(first.stamp, first.sent);
  std::int64_t narrow_low = low;
  std::int64_t narrow_high = high;
  for (const clock_exchange& e : exchanges) {
    const std::int64_t l = difference(e.stamp, e.received);
    const std::int64_t h = difference(e.stamp, e.sent);
    low = std::max(low, l);
    high = std::min(high, h);
    if (h - l < narrow_high - narrow_low) {
      narrow_low = l;
      narrow_high = h;
    }
  }
  if (low > high) {
    low = narrow_low;
    high = narrow_high;
  }
  const std::int64_t half = (high - low) / 2;
  return {exchanges.back().stamp, low + half, static_cast<std::uint64_t>(high - low - half)};
}

clock_line::clock_line(const clock_offset& first, const clock_offset& last) noexcept
    : at_(first.at), offset_(first.offset_ns), error_(std::max(first.error_ns, last.error_ns)) {
  const std::int64_t apart = difference(last.at, first.at);
  if (apart <= 0) return;
  // Clocks differ by some 10 ppm, and a kernel slews by 500 at most. More than that is the error of two measurements
  // close to each other, and must not turn time around.
  constexpr double most = 1e-3;
  drift_ = std::clamp(static_cast<double>(last.offset_ns - first.offset_ns) / static_cast<double>(apart), -most, most);
}

double clock_line::to_reference(std::uint64_t ns) const noexcept {
  // The large numbers are subtracted as integers: a double keeps nanoseconds for 104 days only.
  return static_cast<double>(static_cast<std::int64_t>(ns) - offset_) -
         drift_ * static_cast<double>(difference(ns, at_));
}

}  // namespace tobi::trace
