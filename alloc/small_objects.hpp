// SPDX-License-Identifier: Apache-2.0
// Small objects of global memory, which any worker may free. They lie close together, without headers: a cache line or
// a sub-block that another node fetches has nothing but objects in it.
//
// A slab is 64 KiB of the heap, at a multiple of that, for objects of one size. It has a byte per granule of 8 bytes:
// the byte of an object that begins at offset o of the slab is at o / 8 of the slab. Where it lies follows from the
// object's address alone, so a worker that frees an object needs neither its header nor its size class. The bytes of
// those granules that the bytes themselves take up, the first 1 KiB, are the slab's header.
//
// Invariants:
//   S1  A byte is `vacant`, or `held` from allocate() until the owner has taken the object back. Only the owner writes
//       these two, and only while nobody else may write the byte.
//   S2  One put of another worker changes `held` to `freed`, once, after its last use of the object. The owner changes
//       that to `vacant`, when it collects.
//   S3  A slab goes back to the heap when all of its bytes are vacant: no put for it is on its way.
//   S4  A slab with room is in the list of its size class, once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloc/heap.hpp"

namespace tobi::alloc {

class small_objects {
 public:
  /// In bytes. Above it a header does not matter.
  static constexpr std::size_t largest = 256;

  /// Slabs come from FROM. When more than LIMIT bytes are held, allocate() first collects what others have freed.
  explicit small_objects(heap& from, std::size_t limit_bytes = std::size_t{1} << 20) noexcept;
  ~small_objects();
  small_objects(const small_objects&) = delete;
  small_objects& operator=(const small_objects&) = delete;

  /// BYTES, at most `largest`, aligned to the largest power of two that divides their number, rounded up to 8. Null:
  /// the heap is exhausted, even after a collection.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
  /// Whether OBJECT lies in a slab.
  [[nodiscard]] bool in_slab(const void* object) const noexcept;
  /// Whether OBJECT, which lies in a slab, is one of BYTES that nobody has freed.
  [[nodiscard]] static bool is_held(const void* object, std::size_t bytes) noexcept;
  /// The owner frees its own object.
  void free_local(void* object) noexcept;
  /// Frees what others have freed. Returns how many.
  std::size_t collect() noexcept;

  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }
  [[nodiscard]] std::size_t slabs() const noexcept { return all_.size(); }

  /// What others put into an object's byte.
  static constexpr std::uint8_t freed = 2;
  /// From an object's offset to that of its byte, in the same region, which begins at a multiple of slab_bytes.
  static constexpr std::uint64_t free_byte_offset(std::uint64_t object) noexcept {
    const std::uint64_t in_slab = object % slab_bytes;
    return object - in_slab + in_slab / granule;
  }
  static constexpr std::size_t slab_bytes = std::size_t{1} << 16;

 private:
  static constexpr std::size_t granule = 8;
  static constexpr std::uint32_t granules = slab_bytes / granule;     // and bytes for them
  static constexpr std::uint32_t first_granule = granules / granule;  // behind the bytes
  static constexpr std::size_t header_bytes = granules / granule;     // the bytes that are of no object
  static constexpr std::size_t classes = largest / granule;           // a size for each multiple of 8
  static constexpr std::uint8_t vacant = 0;
  static constexpr std::uint8_t held = 1;

  struct slab {
    slab* previous;  // in the list of its class, while it has room
    slab* next;
    std::uint32_t index;      // in all_
    std::uint32_t step;       // granules per object
    std::uint32_t vacancy;    // the object that was freed last, which names the one before it; 0: none
    std::uint32_t untouched;  // granules from here on were never an object
    std::uint32_t objects;    // that are held, or freed and not collected
  };
  static_assert(sizeof(slab) <= header_bytes);

  [[nodiscard]] static slab* of(const void* object) noexcept;
  [[nodiscard]] static std::uint32_t granule_of(const void* object) noexcept;
  [[nodiscard]] static std::uint8_t& byte_of(slab* s, std::uint32_t at) noexcept;
  [[nodiscard]] static std::byte* object_at(slab* s, std::uint32_t at) noexcept;
  [[nodiscard]] static bool has_room(const slab* s) noexcept {
    return s->vacancy != 0 || s->untouched + s->step <= granules;
  }
  [[nodiscard]] slab*& roomy(std::uint32_t step) noexcept { return roomy_[step - 1]; }
  [[nodiscard]] slab* slab_for(std::uint32_t step) noexcept;
  [[nodiscard]] slab* new_slab(std::uint32_t step) noexcept;
  void link(slab* s) noexcept;
  void unlink(slab* s) noexcept;
  void take_back(slab* s, std::uint32_t at) noexcept;
  void give_back(slab* s) noexcept;

  heap& from_;
  std::size_t limit_bytes_;
  std::size_t collect_at_bytes_;
  std::size_t held_bytes_ = 0;
  std::array<slab*, classes> roomy_{};
  std::vector<slab*> all_;
};

}  // namespace tobi::alloc
