// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/open_loop.hpp"

#include <charconv>
#include <string_view>

namespace tobi_perf {

std::optional<load> parse_load(const std::string& text) {
  constexpr double most = 1e12;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, wrong] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (wrong != std::errc() || !(value > 0) || value > most) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit == "%") return load{value / 100, true};
  if (unit.empty()) return load{value, false};
  if (unit == "k" || unit == "K") return load{value * 1e3, false};
  if (unit == "M") return load{value * 1e6, false};
  return std::nullopt;
}

}  // namespace tobi_perf
