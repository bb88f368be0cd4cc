// SPDX-License-Identifier: Apache-2.0
// What each rank brings to a gather of all (tobi/runtime.hpp): bytes of its own in its heap, and where they are in its
// control block, for those to get that want them. They stay until all have met again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "alloc/remote_objects.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::job {

/// In every worker's control block.
struct gather_words {
  std::uint64_t place;  // location of what this rank brings, or 0
  std::uint64_t bytes;
};

class gathering {
 public:
  /// OWN is this worker's, and all workers have theirs at the same place. MEET: a barrier.
  gathering(net::fabric& net, alloc::remote_objects& objects, gather_words& own, std::function<void()> meet)
      : net_(net), objects_(objects), own_(own), meet_(std::move(meet)) {}

  /// Collective: this rank brings BYTES at MINE. OF: whose it will take (detail::of_all, of_none, or a rank); SIZES
  /// gets theirs, by rank. EACH: what each of them must have, or the job ends; 0: anything. Ends the job where the heap
  /// is full, too.
  void begin(const void* mine, std::uint64_t bytes, int of, std::uint64_t* sizes, std::uint64_t each);
  /// Collective, behind begin(): takes what was named there to INTO, in the order of the ranks; null: nothing.
  void end(void* into);

 private:
  net::fabric& net_;
  alloc::remote_objects& objects_;
  gather_words& own_;
  std::function<void()> meet_;
  std::vector<gather_words> taken_;  // from those that were named
};

}  // namespace tobi::job
