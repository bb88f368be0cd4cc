// SPDX-License-Identifier: Apache-2.0
// The process that labels what a rank writes (labels.hpp).
#pragma once

#include <span>
#include <string_view>

namespace tobi::job {

/// What is read FROM one end of a pipe goes TO where the rank would have written it.
struct labelled_stream {
  int from = -1;  // negative: none
  int to = -1;
};

/// Writes the lines of both streams, LABEL before each, until nobody can write any more. Then the process ends, with
/// status 1 if something could not be written. It was cloned from a process that may have threads, so it calls the
/// kernel alone.
[[noreturn]] void label_lines(std::string_view label, std::span<const labelled_stream, 2> streams) noexcept;

}  // namespace tobi::job
