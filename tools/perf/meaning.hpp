// SPDX-License-Identifier: Apache-2.0
// What the rows of a cost sheet mean for a program: the arithmetic alone, on rows that were measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/perf/work.hpp"

namespace tobi_perf {

/// A quantity at a size, or at a window. WITHIN is its interval; none: it is not known.
struct at_size {
  double size;
  double value;
  std::optional<interval> within;
};

/// A size that was looked for.
struct size_found {
  double value = 0;
  std::optional<interval> within = {};
  bool at_most = false;   // the smallest that was measured is large enough
  bool at_least = false;  // time per byte still falls at the largest that was measured
  double last = 1;        // of the largest: time per byte, as a multiple of the best
};
/// The size from which on the time per byte is no more than FACTOR times the best, by straight lines between the
/// logarithms. TIMES are by rising size. None: fewer than two.
[[nodiscard]] std::optional<size_found> size_within(const std::vector<at_size>& times, double factor);
/// The smallest window whose rate is SHARE of the best; WITHIN are the windows that may be it.
[[nodiscard]] std::optional<size_found> window_for(const std::vector<at_size>& rates, double share);

/// One thing that the sheet says at its end.
struct finding {
  std::string name;  // for programs
  std::string unit;
  std::optional<double> value;  // none: it is no number, or not known, and the text says why
  std::optional<interval> within;
  std::string text;
  bool known = true;  // false: undetermined
};
/// Of the rows of one transport.
[[nodiscard]] std::vector<finding> findings_of(const std::vector<row>& rows);
[[nodiscard]] nlohmann::ordered_json to_json(const finding& f, const std::string& transport);

/// The row of OP, and of SIZE where that is not 0. Null: there is none.
[[nodiscard]] const row* row_of(const std::vector<row>& rows, std::string_view op, std::uint64_t size = 0);

}  // namespace tobi_perf
