// SPDX-License-Identifier: Apache-2.0
// Memory that more than one process may reach: allocators make it, transports register it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tobi::base {

/// [base, base + bytes) of this process: in the file `fd` from `fd_offset` on, where it has one; `fd` is -1 where not.
/// Of memory that grows, `at_first` bytes from its start are in use; 0: all are.
struct shared_memory {
  void* base = nullptr;
  std::size_t bytes = 0;
  int fd = -1;
  std::uint64_t fd_offset = 0;
  std::size_t at_first = 0;

  [[nodiscard]] constexpr std::size_t bytes_at_first() const noexcept { return at_first != 0 ? at_first : bytes; }
};

}  // namespace tobi::base
