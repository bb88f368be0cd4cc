// SPDX-License-Identifier: Apache-2.0
// What limits a program: the one sentence that a person wants first.
#pragma once

#include "tools/report/where.hpp"

namespace tobi_report {

/// Sets the limit and the sentence of W, by what else it has.
void find_limit(const trace& t, where_time_went& w);

/// BYTES for people: "1.2 GB", of powers of ten.
std::string bytes_text(double bytes);

}  // namespace tobi_report
