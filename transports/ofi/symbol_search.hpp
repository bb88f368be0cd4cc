// SPDX-License-Identifier: Apache-2.0
// libfabric reads the kernel's list of symbols (/proc/kallsyms) twice as it starts, in each process and whatever
// FI_PROVIDER says: its hook for memory of GPUs over verbs asks whether the kernel has dma-buf. That is 11 MB of text,
// 0.15 s of a core, and with many workers per core it was the larger part of a job's start. A worker registers no
// memory of a GPU, so here the list is not there.
#pragma once

#include <cstddef>

namespace tobi::transports::ofi {

/// As long as it lives, the library's own calls of fopen do not find that list. All else they find. A library that
/// calls it in another way than by its table of addresses goes on as before.
class symbol_search_off {
 public:
  symbol_search_off() noexcept;
  ~symbol_search_off();
  symbol_search_off(const symbol_search_off&) = delete;
  symbol_search_off& operator=(const symbol_search_off&) = delete;

 private:
  void set(void* function) const noexcept;

  void** slot_ = nullptr;   // of fopen in the library's table; null: not found
  bool read_only_ = false;  // the loader has protected the table
};

}  // namespace tobi::transports::ofi
