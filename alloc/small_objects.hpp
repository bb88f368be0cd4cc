// SPDX-License-Identifier: Apache-2.0
// Small objects of global memory, which any worker may free. They lie close together, without headers: a cache line or
// a sub-block that another node fetches has nothing but objects in it.
//
// A slab is 64 KiB of the heap, at a multiple of that, for objects of one size: a header of 1 KiB, a byte per object,
// and from 8 KiB on the objects. Where the byte of an object lies follows from its address and its size, so another
// worker frees it by one put. The bytes of objects next to each other lie next to each other, so one put frees many.
//
// Invariants:
//   S1  A byte is `vacant`, or `held` from allocate() until the owner has taken the object back. Only the owner writes
//       these two, and only while nobody else may write the byte.
//   S2  One put of another worker changes `held` to `freed`, once, after its last use of the object. The owner changes
//       that to `vacant`, when it collects.
//   S3  A slab is spare, for objects of any size or to go back to the heap, when all of its bytes are vacant: no put
//       for it is on its way.
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

  /// Slabs of rank OWNER come from FROM. When more than LIMIT bytes are held, allocate() first collects what others
  /// have freed.
  small_objects(heap& from, int owner, std::size_t limit_bytes = std::size_t{1} << 20) noexcept;
  ~small_objects();
  small_objects(const small_objects&) = delete;
  small_objects& operator=(const small_objects&) = delete;

  /// BYTES, at most `largest`, aligned to the largest power of two that divides their number, rounded up to 8. Null:
  /// the heap is exhausted, even after a collection.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
  /// How a slab begins.
  struct head {
    std::uint64_t mark;  // mark_of() its owner; what is none has something else there
    std::uint32_t step;  // granules per object
  };
  /// Another one for each owner: a worker's heap has copies of others' slabs in it, where they are cached.
  [[nodiscard]] static constexpr std::uint64_t mark_of(int owner) noexcept {
    return 0x7462'6f73'6c61'6273 ^ static_cast<std::uint64_t>(owner) << 32;
  }
  /// Whether an object of BYTES could be at OFFSET of a region, for what is known here of the slab that OFFSET names.
  [[nodiscard]] static constexpr bool could_be(std::uint64_t offset, std::size_t bytes) noexcept {
    const std::uint64_t in_slab = offset % slab_bytes;
    return in_slab >= first_object && (in_slab - first_object) % (steps_of(bytes) * granule) == 0;
  }
  [[nodiscard]] static constexpr bool could_be(int owner, const head& slab, std::uint64_t offset,
                                               std::size_t bytes) noexcept {
    return slab.mark == mark_of(owner) && slab.step == steps_of(bytes) && could_be(offset, bytes);
  }
  /// Whether OFFSET of OWNER's region, which is mapped here at REGION, lies in a slab.
  [[nodiscard]] static bool in_slab(int owner, const std::byte* region, std::uint64_t offset) noexcept;
  /// Whether an object of BYTES that nobody has freed lies there.
  [[nodiscard]] static bool is_held(int owner, const std::byte* region, std::uint64_t offset,
                                    std::size_t bytes) noexcept;
  /// The owner frees its own object. False: it is none of BYTES, or was freed before.
  bool free_local(void* object, std::size_t bytes) noexcept;
  /// Frees what others have freed. Returns how many.
  std::size_t collect() noexcept;

  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }

  /// What others put into an object's byte.
  static constexpr std::uint8_t freed = 2;
  /// From the offset of an object of BYTES to that of its byte, in the same region, which begins at a multiple of
  /// slab_bytes.
  static constexpr std::uint64_t free_byte_offset(std::uint64_t object, std::size_t bytes) noexcept {
    const std::uint64_t in_slab = object % slab_bytes;
    return object - in_slab + header_bytes + (in_slab - first_object) / (steps_of(bytes) * granule);
  }
  static constexpr std::size_t slab_bytes = std::size_t{1} << 16;

  /// What an object's byte is from its allocation until it is freed.
  static constexpr std::uint8_t held = 1;
  /// Offsets in a region: of an object, and of its byte.
  struct place {
    std::uint64_t begin;
    std::uint64_t bytes;  // as many as its size was rounded up to; 0: there is no place for an object
    std::uint64_t byte;
  };
  /// The one in which OFFSET lies, in the slab that begins with SLAB.
  [[nodiscard]] static constexpr place place_of(const head& slab, std::uint64_t offset) noexcept {
    const std::uint64_t in_slab = offset % slab_bytes;
    if (in_slab < first_object || slab.step == 0) return {};
    const std::uint64_t each = slab.step * granule;
    const std::uint64_t number = (in_slab - first_object) / each;
    if (first_object + (number + 1) * each > slab_bytes) return {};
    const std::uint64_t begin = offset - in_slab;
    return {begin + first_object + number * each, each, begin + header_bytes + number};
  }

 private:
  friend struct small_objects_from_within;  // of the unit test

  static constexpr std::size_t granule = 8;
  static constexpr std::size_t header_bytes = 1024;
  static constexpr std::size_t first_object = 8192;
  static constexpr std::size_t classes = largest / granule;  // a size for each multiple of 8
  // Taken from the heap together: it adds a page to each allocation, and so a gap before the next one that is aligned.
  static constexpr std::uint32_t chunk_slabs = 16;
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::uint8_t vacant = 0;

  /// Granules that an object of BYTES takes.
  static constexpr std::uint32_t steps_of(std::size_t bytes) noexcept {
    return static_cast<std::uint32_t>(bytes == 0 ? 1 : (bytes + granule - 1) / granule);
  }
  static_assert(header_bytes + (slab_bytes - first_object) / granule <= first_object);

  struct slab : head {
    slab* previous;  // in the list of its class, while it has room, or of those that are spare
    slab* next;
    slab* chunk;              // the first one of those that the heap gave together
    std::uint32_t index;      // in used_
    std::uint32_t capacity;   // objects
    std::uint32_t vacancy;    // the object that was freed last, which names the one before it; none
    std::uint32_t untouched;  // objects from here on never were one
    std::uint32_t objects;    // that are held, or freed and not collected
    // Of the first one of a chunk:
    std::uint32_t number;    // in chunks_
    std::uint32_t together;  // slabs
    std::uint32_t in_use;    // of them, not spare
  };
  static_assert(sizeof(slab) <= header_bytes);

  [[nodiscard]] static slab* of(const void* object) noexcept;
  [[nodiscard]] static std::uint32_t number_of(const slab* s, std::uint32_t in_slab) noexcept;
  [[nodiscard]] static std::uint8_t& byte_of(slab* s, std::uint32_t at) noexcept;
  [[nodiscard]] static std::byte* object_at(slab* s, std::uint32_t at) noexcept;
  [[nodiscard]] static bool has_room(const slab* s) noexcept {
    return s->vacancy != none || s->untouched < s->capacity;
  }
  [[nodiscard]] slab*& roomy(std::uint32_t step) noexcept { return roomy_[step - 1]; }
  [[nodiscard]] slab* slab_for(std::uint32_t step) noexcept;
  [[nodiscard]] bool take_chunk(std::uint32_t together) noexcept;
  static void link(slab*& first, slab* s) noexcept;
  static void unlink(slab*& first, slab* s) noexcept;
  void take_back(slab* s, std::uint32_t at) noexcept;
  void give_back(slab* s) noexcept;

  heap& from_;
  int owner_;
  std::size_t limit_bytes_;
  std::size_t collect_at_bytes_;
  std::size_t held_bytes_ = 0;
  std::array<slab*, classes> roomy_{};
  slab* spare_ = nullptr;
  std::vector<slab*> used_;
  std::vector<slab*> chunks_;
};

}  // namespace tobi::alloc
