// SPDX-License-Identifier: Apache-2.0
// Two files of results, row by row: whether the second is slower than the first, as far as repeats can tell.
//
// A row is what the two files have measured alike, several times each. The ratio is the median of all quotients of a
// time of the second file and one of the first, and its interval is the exact one of Mann and Whitney's rank test
// (Hodges and Lehmann 1963): nothing is assumed of how times are distributed, and one that was disturbed moves a rank,
// not a mean. Its confidence is 99.9 %, since many rows are looked at at once: 7 repeats of each file are the fewest
// that can tell anything. They have to be made in turn, or the machine's changes are taken for the program's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/origins.hpp"
#include "tools/report/results.hpp"

namespace tobi_report {

/// Of the times of B divided by those of A.
struct ratio_of_times {
  double ratio = 1;
  std::optional<std::pair<double, double>> interval;  // none: too few times
};
/// Times are above 0, at least one and at most most_repeats of each.
ratio_of_times ratio_between(const std::vector<double>& a, const std::vector<double>& b);
inline constexpr std::size_t most_repeats = 100;

enum class verdict { better, same, worse, undecided };

struct compared_times {
  std::string title;
  std::size_t times_a = 0, times_b = 0;
  double median_a = 0, median_b = 0;  // seconds
  ratio_of_times found;
  verdict says = verdict::undecided;
};

struct comparison_of_files {
  std::vector<compared_times> rows;
  std::vector<std::string> missing;  // sentences: what only one of the two has
  std::vector<difference> apart;     // in what their machines, builds and settings differ
  double margin = 0;                 // what is no more than this apart is the same
};

/// Throws bad_input where the files have nothing to compare, or too much.
comparison_of_files compare_files(const std::string& a, const std::string& b, double margin);
void print_comparison(const comparison_of_files& c);
line to_json(const compared_times& row);
/// Whether a row is worse by more than the margin, or cannot be compared: too few repeats, or none in one of the files.
bool has_failed(const comparison_of_files& c);

/// "5%" to 0.05. Throws bad_input.
double parse_percent(const std::string& text);

}  // namespace tobi_report
