// SPDX-License-Identifier: Apache-2.0
// What a program would take on an ideal machine: work and span, from the measured time of one leaf.
#pragma once

#include <optional>
#include <string>

#include "tools/bench/arguments.hpp"

namespace tobi_bench {

/// For loops: what lasts as long as --m says. Sets O.one. Before the workers are forked.
void calibrate(loop_options& o);

/// Seconds. Without a span nothing is said about it.
struct ideal {
  double work = 0;  // T1
  double span = 0;  // Tinf, or 0

  [[nodiscard]] double at_least(int workers) const noexcept { return span > work / workers ? span : work / workers; }
  [[nodiscard]] double at_most(int workers) const noexcept { return work / workers + span; }
};
std::optional<ideal> ideal_pfor(const arguments& a);
std::optional<ideal> ideal_recpfor(const arguments& a);
std::optional<ideal> ideal_lcs(const arguments& a);
/// The sentence for people.
std::string compare(const ideal& best, int workers, double seconds);

}  // namespace tobi_bench
