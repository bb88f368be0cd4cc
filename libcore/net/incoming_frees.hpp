// SPDX-License-Identifier: Apache-2.0
// What local collection replaced: a queue of incoming frees per worker, protected by a lock (CLUSTER 2022, section
// III-B, of the first uni-address threads). With TOBI_LOCAL_COLLECTION=0, to be measured against.
//
// A worker that frees another worker's object takes that worker's lock, counts one more, puts the object's offset, and
// releases the lock: four dependent round trips. The owner takes its own lock and frees all that has come.
//
// Invariants: `lock` and `count` change by atomics alone, of the owner too, since a fabric's may be atomic only among
// themselves. `count` and the offsets change under the lock alone. A queue that is full takes nothing: the one that
// frees waits, without the lock, and empties its own queue meanwhile, so that two that wait for each other both go on.
// The owner empties its queue when it allocates beyond its limit and whenever it looks for work.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/remote_objects.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::net {

/// In each worker's heap region, at the same offset.
struct incoming_area {
  static constexpr std::uint64_t entries = 8192;
  std::uint64_t lock;  // 0: free
  std::uint64_t count;
  std::uint64_t unused[6];
  std::uint64_t object[entries];  // offsets in the owner's heap region
};

class incoming_frees final : public alloc::incoming {
 public:
  incoming_frees(fabric& net, incoming_area& mine, alloc::remote_objects& objects) noexcept
      : net_(net), mine_(mine), objects_(objects) {}

  /// Frees an object of another worker.
  void free(location object);
  /// Frees what others have put here; Returns how many. One look at a word when there is nothing.
  std::size_t collect() noexcept override;

 private:
  [[nodiscard]] location of(int rank, std::size_t member) const noexcept {
    return {rank, net_.here(&mine_).offset() + member};
  }
  void take_lock(int rank);
  void release_lock(int rank);

  fabric& net_;
  incoming_area& mine_;
  alloc::remote_objects& objects_;
  std::uint64_t offset_ = 0;  // source of the put
};

}  // namespace tobi::net
