// SPDX-License-Identifier: Apache-2.0
// A part of tobi-info that a vendor's library may crash, or keep for ever: it runs in a child process, which is this
// program executed anew, for a limited time. The child says what it finds as one JSON object per line, each at once, so
// that what was found before a crash is not lost.
#pragma once

#include <string>
#include <vector>

#include "tools/info/gather.hpp"

namespace tobi_info {

/// The last thing that a child says: an exit without it came too early.
inline constexpr const char* finished = "finished";

/// A child that has been started. Killed, with all that it has started, when it is dropped before its end.
class child {
 public:
  /// WHAT is what `tobi-info --probe` gets: see probe.hpp.
  explicit child(const std::string& what);
  ~child();
  child(child&& other) noexcept;
  child& operator=(child&&) = delete;

  /// Waits for its end, for at most SECONDS since its start. All of its objects merged into one, in their order;
  /// TROUBLE is "" or what went wrong, as a part of a sentence.
  json collect(int seconds, std::string& trouble);

 private:
  int pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::uint64_t started_ns_ = 0;
  std::string refused_;  // why it was not started, or ""
};

}  // namespace tobi_info
