// SPDX-License-Identifier: Apache-2.0
// jemalloc's thread-local data, of which this process has one copy for all its threads (alloc/tsd_by_offset.cc says why
// it is none of theirs). So to jemalloc there is one thread, and its callers take turns.
#pragma once

#include <mutex>

namespace tobi::alloc {

/// For the time of each call of jemalloc: nobody else is in one, and its data is found from this thread.
class jemalloc_turn {
 public:
  jemalloc_turn() noexcept;

 private:
  std::lock_guard<std::mutex> alone_;
};

}  // namespace tobi::alloc
