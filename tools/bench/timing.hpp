// SPDX-License-Identifier: Apache-2.0
// Seconds of a call.
#pragma once

#include <chrono>

#include "tools/samples.hpp"

namespace tobi_bench {

using tobi_tools::median;

template <class F>
double seconds_of(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace tobi_bench
