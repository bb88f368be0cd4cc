// SPDX-License-Identifier: Apache-2.0
// A line that says how far a long run has come: on a terminal only. Workers add to a word of shared memory each; a
// small process next to them prints the sum twice per second and dies with its parent.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "tools/bench/arguments.hpp"

namespace tobi_bench {

class progress {
 public:
  /// Before the runtime forks. Does nothing unless WANTED and standard error is a terminal.
  /// Where COUNTS, the tasks count what they do.
  progress(bool wanted, bool counts, const arguments& a);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// Where RANK counts, or null.
  [[nodiscard]] std::uint64_t* word(int rank) noexcept;
  void start(const char* phase) noexcept;
  void stop() noexcept;

 private:
  struct board;
  [[noreturn]] void print_forever(bool counts, std::uint64_t total) const noexcept;

  board* board_ = nullptr;
  pid_t printer_ = -1;
  pid_t owner_ = -1;
};

}  // namespace tobi_bench
