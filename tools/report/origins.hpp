// SPDX-License-Identifier: Apache-2.0
// Where results were made, as the first line of tobi-perf --json says it (tools/provenance.hpp): on which machine, with
// which build, under which settings.
#pragma once

#include <string>
#include <vector>

#include "tools/report/results.hpp"

namespace tobi_report {

/// What two files say of one thing. A file that was made in several runs may say several, with commas.
struct difference {
  std::string what, first, second;
};
/// In what the machines, builds and settings of two files differ. Nothing is known of a file whose lines do not say it.
std::vector<difference> differences(const std::vector<line>& first, const std::vector<line>& second);
line to_json(const difference& d);

}  // namespace tobi_report
