// SPDX-License-Identifier: Apache-2.0
// Objects that any worker may free: local collection (CLUSTER 2022, section III-B).
//
// The owner keeps all of its remote objects in a doubly linked list. A remote free is one unwaited put of the object's
// free word; the owner finds it when it walks the list, which it does when the objects that it holds exceed a limit.
// Nobody takes a lock and nobody waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloc/heap.hpp"

namespace tobi::alloc {

/// Another way by which frees of others arrive than the free words: the baseline that local collection replaced.
class incoming {
 public:
  virtual ~incoming() = default;
  /// Frees what has arrived, by free_local. Returns how many.
  virtual std::size_t collect() noexcept = 0;
};

class remote_objects {
 public:
  /// Objects come from FROM. When more than LIMIT bytes are held, allocate() first collects what others have freed.
  explicit remote_objects(heap& from, std::size_t limit_bytes = std::size_t{1} << 20) noexcept;
  ~remote_objects();
  remote_objects(const remote_objects&) = delete;
  remote_objects& operator=(const remote_objects&) = delete;

  /// BYTES aligned to 16, or null when the heap is exhausted even after a collection.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
  /// The same for callers that can do without: null may also mean that the heap was exhausted not long ago. A worker
  /// whose heap is full asks at each ring of its bell, and would look at all that it holds each time.
  [[nodiscard]] void* try_allocate(std::size_t bytes) noexcept;
  /// The owner frees its own object.
  void free_local(void* object) noexcept;
  /// From now on collect() asks FROM instead of walking the list. It outlives its use; null: the list again.
  void collect_from(incoming* from) noexcept { incoming_ = from; }
  /// Whether OBJECT looks like one of BYTES that nobody has freed: a check for messages, not a proof.
  [[nodiscard]] static bool is_held(const void* object, std::size_t bytes) noexcept {
    const header* h = static_cast<const header*>(object) - 1;
    return h->bytes == (bytes == 0 ? 1 : bytes) && h->free_word == 0;
  }
  /// Frees what others have marked. Returns how many.
  std::size_t collect() noexcept;

  /// visit(object, bytes) for each object that is held, freed ones that were not collected yet included.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const header* h = list_.next; h != &list_; h = h->next) visit(static_cast<const void*>(h + 1), h->bytes);
  }

  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }

  /// What others put into an object's free word.
  static constexpr std::uint64_t freed = 1;
  /// From an object's offset to that of its free word, in the same region.
  static constexpr std::uint64_t free_word_offset(std::uint64_t object) noexcept {
    return object - sizeof(std::uint64_t);
  }

 private:
  struct header {
    header* previous;
    header* next;
    std::size_t bytes;        // of the object
    std::uint64_t free_word;  // others put here; it is the last word before the object
  };
  static_assert(sizeof(header) == 32);
  // Records are made and dropped at every publication: objects up to small_limit are kept for reuse, by size.
  static constexpr std::size_t small_step = 64;
  static constexpr std::size_t small_classes = 4;

  [[nodiscard]] header* fresh(std::size_t bytes) noexcept;
  void* hold(header* h, std::size_t bytes) noexcept;
  void unlink_and_keep(header* h) noexcept;

  heap& from_;
  incoming* incoming_ = nullptr;
  std::size_t limit_bytes_;
  std::size_t collect_at_bytes_;
  header list_{&list_, &list_, 0, 0};
  std::array<header*, small_classes> kept_{};
  std::size_t held_bytes_ = 0;
  unsigned exhausted_ = 0;  // collections of try_allocate() in a row that were in vain
  unsigned skips_ = 0;      // calls of it that are still to go without one
};

}  // namespace tobi::alloc
