// SPDX-License-Identifier: Apache-2.0
// The registered heap: a jemalloc arena whose extents all come from one registered range, so that every object in it
// can be reached by remote operations without a registration of its own. jemalloc is a private copy: the program's
// malloc is not touched.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace tobi::alloc {

class heap {
 public:
  /// Serves from [BASE, BASE + BYTES), which the caller keeps mapped for the life of the heap. One heap at a time
  /// exists in a process.
  heap(std::byte* base, std::size_t bytes);
  ~heap();
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;

  /// BYTES aligned to ALIGNMENT (a power of two), or null when no gap of the range has room for them, also after all
  /// that was freed has been joined.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 16) noexcept;
  /// Gives back what allocate() returned. Any thread may.
  void deallocate(void* object) noexcept;

  struct range;  // the part that the extent hooks work on

 private:
  std::unique_ptr<range> range_;
  unsigned arena_ = 0;
  int flags_ = 0;
  std::string purge_;  // jemalloc's name for: join what this arena has free
};

}  // namespace tobi::alloc
