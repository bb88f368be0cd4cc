// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/units.hpp"

#include <fmt/format.h>

#include <array>

namespace tobi_perf {

namespace {

std::string in_units(double value, double step, const std::array<const char*, 4>& units) {
  std::size_t u = 0;
  while (value >= 0.9995 * step && u + 1 < units.size()) {
    value /= step;
    ++u;
  }
  return fmt::format("{:.{}f}{}", value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, units[u]);
}

}  // namespace

std::string time_text(double ns) { return in_units(ns, 1000, {" ns", " us", " ms", " s"}); }
std::string times_text(const std::optional<interval>& ns) {
  return ns ? time_text((*ns)[0]) + " to " + time_text((*ns)[1]) : "-";
}
std::string bandwidth_text(double bytes_per_second) {
  return in_units(bytes_per_second / 1000, 1000, {" kB/s", " MB/s", " GB/s", " TB/s"});
}
std::string rate_text(double per_second) { return in_units(per_second, 1000, {" /s", " k/s", " M/s", " G/s"}); }
std::string bytes_text(double bytes) { return in_units(bytes, 1024, {" B", " KB", " MB", " GB"}); }

}  // namespace tobi_perf
