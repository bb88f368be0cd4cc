// SPDX-License-Identifier: Apache-2.0
// The places in the program for which a worker has fetched bytes, where somebody wants to know (TOBI_STATS,
// TOBI_TRACE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcore/trace/trace.hpp"

namespace tobi::pgas {

class call_sites {
 public:
  /// What follows is for PLACE, an address of code.
  void at(const void* place) noexcept { place_ = reinterpret_cast<std::uintptr_t>(place); }
  void fetches(std::uint64_t bytes) {
    fetched_for_ = place_;
    trace::call_site& s = row(fetched_for_);
    ++s.pieces;
    s.bytes += bytes;
  }
  /// For what was fetched last: several checkouts may wait together.
  void waited(std::uint64_t ns) { row(fetched_for_).waited_ns += ns; }

  [[nodiscard]] const std::vector<trace::call_site>& all() const noexcept { return all_; }
  void clear() noexcept { all_.clear(); }

  /// Adds what OTHER, of another worker, has at its place.
  void add(const trace::call_site& other) {
    trace::call_site& s = row(other.place);
    s.pieces += other.pieces;
    s.bytes += other.bytes;
    s.waited_ns += other.waited_ns;
  }

 private:
  // A program has some dozens. What it makes at run time is summed up.
  static constexpr std::size_t most = 256;

  trace::call_site& row(std::uint64_t place) {
    for (trace::call_site& s : all_) {
      if (s.place == place) return s;
    }
    if (all_.size() >= most && place != 0) return row(0);
    return all_.emplace_back(trace::call_site{place, 0, 0, 0});
  }

  std::vector<trace::call_site> all_;
  std::uint64_t place_ = 0;
  std::uint64_t fetched_for_ = 0;
};

}  // namespace tobi::pgas
