// SPDX-License-Identifier: Apache-2.0
// The registered heap: a jemalloc arena whose extents all come from one registered range, so that every object in it
// can be reached by remote operations without a registration of its own. jemalloc is a private copy: the program's
// malloc is not touched.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace tobi::alloc {

class heap {
 public:
  /// Makes at least BYTES more of the range usable, behind what is. Returns how many; 0: none can be had now. Called
  /// inside of allocate(), so it allocates nothing here.
  using grower = std::function<std::size_t(std::size_t bytes)>;

  /// Serves from [BASE, BASE + BYTES), which the caller keeps mapped for the life of the heap. One heap at a time
  /// exists in a process.
  heap(std::byte* base, std::size_t bytes);
  /// The same of a range that grows: BYTES are usable now, and GROW makes more so. No object lies in two of its parts,
  /// since each may be registered by itself.
  heap(std::byte* base, std::size_t bytes, grower grow);
  ~heap();
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;

  /// BYTES aligned to ALIGNMENT (a power of two), or null when no gap of the range has room for them, also after all
  /// that was freed has been joined.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 16) noexcept;
  /// Gives back what allocate() returned. Any thread may.
  void deallocate(void* object) noexcept;

  struct range;  // what the extent hooks work on

 private:
  std::unique_ptr<range> range_;
  unsigned arena_ = 0;
  int flags_ = 0;
  std::string purge_;  // jemalloc's name for: join what this arena has free
};

}  // namespace tobi::alloc
