// SPDX-License-Identifier: Apache-2.0
// The cache line hazard. One report says that a write of the device is lost where the CPU writes other bytes of the
// same 256-byte line at that time. What the other bytes were is kept from a write's arrival to its execution; that they
// have changed meanwhile, and not by the device, is what programs should avoid, or know to be harmless.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/emulators/utofu/options.hpp"

namespace emulated {

struct shared_line_counts {
  std::uint64_t writes = 0;
  std::uint64_t shared = 0;  // of these, with a line that a CPU changed meanwhile
};

/// The lines at the ends of a write, which it does not fill.
class watched_lines {
 public:
  /// A write of BYTES at AT has arrived.
  void begin(std::byte* at, std::size_t bytes) noexcept;
  /// The device has written, for another request.
  void written(const std::byte* at, std::size_t bytes) noexcept;
  /// Whether other bytes of a line have changed; asked once, before the first piece is written.
  [[nodiscard]] bool changed() noexcept;
  /// Whether that was so, and a write into [at, at + bytes) falls into such a line.
  [[nodiscard]] bool hurts(const std::byte* at, std::size_t bytes) const noexcept;
  [[nodiscard]] const std::byte* where() const noexcept { return first_; }
  [[nodiscard]] bool asked() const noexcept { return asked_; }

 private:
  struct line {
    std::byte* base = nullptr;
    bool hurt = false;
    std::array<std::byte, line_bytes> was{};
  };
  void watch(std::byte* base) noexcept;
  [[nodiscard]] bool own(const std::byte* at) const noexcept { return at >= first_ && at < end_; }

  std::vector<line> lines_;
  std::byte* first_ = nullptr;
  std::byte* end_ = nullptr;
  bool asked_ = false;
};

}  // namespace emulated
