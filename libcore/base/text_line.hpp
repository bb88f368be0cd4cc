// SPDX-License-Identifier: Apache-2.0
// Text put together without allocation, for sentences that a signal handler says: the interrupted thread may hold the
// allocator's lock.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tobi::base {

/// At most BYTES of text, of which end() alone uses the last KEPT; what is more is cut.
template <std::size_t Bytes, std::size_t Kept = 0>
class text_buffer {
 public:
  text_buffer& operator<<(std::string_view text) noexcept {
    for (const char c : text) add(c);
    return *this;
  }
  /// With '?' for control characters, which would break the line, or the terminal: what users typed is quoted.
  text_buffer& printable(std::string_view text) noexcept {
    for (const char c : text) {
      const auto code = static_cast<unsigned char>(c);
      add(code < 0x20 || code == 0x7f ? '?' : c);
    }
    return *this;
  }
  text_buffer& number(std::uint64_t n, int base = 10) noexcept {
    char digits[24];
    return *this << std::string_view(digits, std::to_chars(digits, digits + sizeof digits, n, base).ptr);
  }
  /// The last words: WHOLE, or CUT where something did not fit. At most KEPT bytes of them.
  text_buffer& end(std::string_view whole, std::string_view cut) noexcept {
    used_ += (cut_ ? cut : whole).copy(text_ + used_, Kept);
    return *this;
  }
  text_buffer& clear() noexcept {
    used_ = 0;
    cut_ = false;
    return *this;
  }
  [[nodiscard]] std::string_view view() const noexcept { return {text_, used_}; }
  /// In one write(2), unless the kernel takes less. What nobody listens to is dropped.
  void write_to(int fd) const noexcept {
    for (std::string_view rest = view(); !rest.empty();) {
      const ssize_t n = ::write(fd, rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }

 private:
  void add(char c) noexcept {
    if (used_ < Bytes - Kept) {
      text_[used_++] = c;
    } else {
      cut_ = true;
    }
  }

  char text_[Bytes];
  std::size_t used_ = 0;
  bool cut_ = false;
};

using text_line = text_buffer<4096>;

}  // namespace tobi::base
