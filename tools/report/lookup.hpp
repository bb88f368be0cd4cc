// SPDX-License-Identifier: Apache-2.0
// How papers.json asks for numbers of ours: lines that have certain fields, and in them a field by its path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/report/results.hpp"

namespace tobi_report {

/// The number at PATH, "/stats/steals_ok"; none where it is missing or was not counted.
std::optional<double> number_at(const line& l, const std::string& path);

/// Whether L has every field of WANTED, {"/app": "uts", "/workers": 2}.
bool fits(const line& l, const line& wanted);

/// {"at": "/result", "over": "/seconds", "times": 1e-6} of L. "over" may be a list; "times": "ghz" makes cycles of
/// nanoseconds. None where a part is missing, or what is divided by is 0.
std::optional<double> evaluate(const line& spec, const line& l, double ghz);

/// The paths that such a SPEC asks for.
std::vector<std::string> paths_of(const line& spec);

/// Of the counter of cycles, where a line says it; else 0.
double gigahertz(const std::vector<line>& lines);

}  // namespace tobi_report
