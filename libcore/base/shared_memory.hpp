// SPDX-License-Identifier: Apache-2.0
// Memory that more than one process may reach: allocators make it, transports register it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tobi::base {

/// [base, base + bytes) of this process: in the file `fd` from `fd_offset` on, where it has one; `fd` is -1 where not.
struct shared_memory {
  void* base = nullptr;
  std::size_t bytes = 0;
  int fd = -1;
  std::uint64_t fd_offset = 0;
};

}  // namespace tobi::base
