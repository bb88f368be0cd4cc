// SPDX-License-Identifier: Apache-2.0
// A heap region that is registered part by part. Where a fabric pins what it registers, a heap of the usual size would
// be a gigabyte of memory per worker; so a part of it is registered at the start, and the next one when that is full.
//
//   region:  [ control block, heap: the part of the start | part 1 | part 2 | ... | addresses alone ]
//
// The owner registers a part, writes its row into its control block, then counts it, and only then uses the part. So an
// object that anybody names lies in a part whose row is there. Another worker that meets an object beyond the parts
// that it knows reads the count, and behind it the rows that it does not have. Rows stay as they are
// (tests/models/growing_heap.pml). No object lies in two parts (alloc/heap.hpp), so no operation does.
//
// A part is as large as all before it, and largest_part at most, so that no more than that is locked in vain. It may be
// smaller where the fabric refuses that much, and larger where one object is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transports/transport.hpp"

namespace tobi::net {

/// In the control block of each worker, whose peers get it.
struct heap_parts {
  struct row {
    std::uint64_t begin;  // offsets in the heap region
    std::uint64_t end;
    transports::region_key key;
  };
  static constexpr std::size_t most = 16;

  std::uint64_t count;
  row rows[most];
};

/// The owner's side.
class growing_heap {
 public:
  static constexpr std::size_t largest_part = std::size_t{256} << 20;

  /// REGION, of which at_first bytes are registered; WORDS lie there. PARTS begin and end at multiples of UNIT.
  growing_heap(transports::transport& over, const transports::memory& region, heap_parts& words, std::size_t unit);

  /// Registers at least BYTES more, behind what is. Returns how many; 0: there are no more addresses, or the fabric
  /// refuses, which is said once. Of a thread that may call the transport.
  [[nodiscard]] std::size_t grow(std::size_t bytes) noexcept;

 private:
  [[nodiscard]] bool add(std::size_t bytes) noexcept;
  void tell_refused(std::size_t bytes) noexcept;

  transports::transport& over_;
  transports::memory region_;
  heap_parts& words_;
  std::size_t unit_;
  std::size_t usable_;         // from the region's start
  std::size_t refused_bytes_;  // so much is not asked for again
  bool has_told_refused_ = false;
};

}  // namespace tobi::net
