// SPDX-License-Identifier: Apache-2.0
// Where each byte of the global view has its home (SC'23, section 4.2): in the registered heap of some worker.
//
//   view:  [ heap of rank 0 | heap of rank 1 | ... | collective allocations ]
//
// The first part shows every worker's whole heap: objects that a task allocates need no agreement. Behind it, an
// allocation that all workers make together is dealt to them in chunks: chunk c has its home at rank c mod size. A
// block distribution is one whose chunks are so large that everybody has one. All of it is in whole blocks, so that
// each block of the view has one home, and workers that make the same calls in the same order agree on all addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>

namespace tobi::pgas {

/// A part of the view whose home is contiguous in one worker's heap region. Offsets count from the view's start, and
/// from the region's.
struct home_run {
  int rank = -1;  // -1: there is no such global memory
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t home = 0;  // offset in the region of `rank` of the byte at `begin`
  bool few = false;        // so few and large that each may stay mapped
  bool constant = false;   // nobody writes it now
};

/// Its parts lie at one offset in all regions, or each at its own: then a worker that needs that of a rank asks for it,
/// and keeps it. So nobody has a word of every rank for an allocation.
struct allocation {
  static constexpr std::uint64_t by_rank = ~std::uint64_t{0};

  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;  // whole blocks
  std::uint64_t chunk = 0;  // whole blocks
  std::uint64_t home = 0;   // offset in the region of every rank, or by_rank
  std::uint32_t slot = 0;   // of each rank's table of its own offsets; nobody else has it meanwhile
  std::uint64_t own = 0;    // offset in this rank's region
  bool constant = false;    // nobody writes it now
  mutable std::unordered_map<int, std::uint64_t> known{};  // of others, where it is by_rank
};

class homes {
 public:
  /// What RANK's table of its own offsets says in SLOT. May wait for RANK's memory, and suspends nothing.
  using asker = std::function<std::uint64_t(int rank, std::uint32_t slot)>;

  /// REGION_BYTES: of each worker's heap region, whose first OBJECTS_FROM bytes are no objects. VIEW_BYTES: of all.
  homes(int size, std::uint64_t region_bytes, std::uint64_t objects_from, std::uint64_t view_bytes,
        std::uint64_t block_bytes, asker ask = nullptr);

  /// The view that SIZE heaps and COLLECTIVE_BYTES need.
  [[nodiscard]] static std::uint64_t view_bytes(int size, std::uint64_t region_bytes, std::uint64_t collective_bytes,
                                                std::uint64_t block_bytes) noexcept;

  [[nodiscard]] home_run find(std::uint64_t at) const noexcept;
  /// The place in the view of an object at OFFSET of the region of RANK.
  [[nodiscard]] std::uint64_t of_object(int rank, std::uint64_t offset) const noexcept {
    return static_cast<std::uint64_t>(rank) * stride_ + offset;
  }
  /// Whether AT is in a worker's heap, not in a collective allocation.
  [[nodiscard]] bool in_heaps(std::uint64_t at) const noexcept { return at < heaps_bytes_; }

  /// The size of a chunk when BYTES are distributed in blocks (CHUNK 0), or in chunks of at least CHUNK bytes.
  [[nodiscard]] std::uint64_t chunk_for(std::uint64_t bytes, std::uint64_t chunk) const noexcept;
  /// What RANK has to provide for that.
  [[nodiscard]] std::uint64_t share_of(int rank, std::uint64_t bytes, std::uint64_t chunk) const noexcept;
  /// A free range of the collective part, or 0: there is none.
  [[nodiscard]] std::uint64_t place_for(std::uint64_t bytes) const noexcept;
  void add(allocation a);
  /// The allocation that begins at AT, or null.
  [[nodiscard]] const allocation* starting_at(std::uint64_t at) const noexcept;
  /// Of the allocation that begins at AT.
  void set_constant(std::uint64_t at, bool constant) { collective_.at(at).constant = constant; }
  void remove(std::uint64_t at) { collective_.erase(at); }
  [[nodiscard]] std::uint64_t collective_bytes() const noexcept { return view_bytes_ - heaps_bytes_; }

 private:
  [[nodiscard]] std::uint64_t home_of(const allocation& a, int rank) const;
  [[nodiscard]] std::uint64_t whole_blocks(std::uint64_t bytes) const noexcept {
    return (bytes + block_ - 1) / block_ * block_;
  }

  std::uint64_t size_;
  std::uint64_t region_bytes_;
  std::uint64_t objects_from_;
  std::uint64_t block_;
  std::uint64_t stride_;
  std::uint64_t heaps_bytes_;
  std::uint64_t view_bytes_;
  asker ask_;
  std::map<std::uint64_t, allocation> collective_;  // by begin
};

}  // namespace tobi::pgas
