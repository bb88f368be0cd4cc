// SPDX-License-Identifier: Apache-2.0
// A zeroed piece of memory in a file without a name, so that every transport can register it and others can map it.
#pragma once

#include <cstddef>

#include "transports/transport.hpp"

namespace tobi::transports::soft {

class memory_file {
 public:
  /// At least BYTES, for WHAT. Fatal when there is no memory.
  memory_file(const char* what, std::size_t bytes);
  ~memory_file();
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  /// As transports register it.
  [[nodiscard]] const memory& whole() const noexcept { return whole_; }
  [[nodiscard]] std::byte* at(std::size_t offset) const noexcept {
    return static_cast<std::byte*>(whole_.base) + offset;
  }

 private:
  memory whole_;
};

}  // namespace tobi::transports::soft
