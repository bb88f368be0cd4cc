// SPDX-License-Identifier: Apache-2.0
#include "libcore/net/small_frees.hpp"

#include <algorithm>
#include <cstring>

#include "alloc/small_objects.hpp"

namespace tobi::net {

namespace {
constexpr std::size_t enough = 4096;  // at most 1 MiB of the owners' heaps waits here
// More objects than that are never next to each other.
constexpr std::size_t longest_run = alloc::small_objects::slab_bytes / 8;
}  // namespace

bool small_frees::add(location object, std::size_t bytes) {
  const std::uint64_t byte = alloc::small_objects::free_byte_offset(object.offset(), bytes);
  bytes_.push_back(location(object.rank(), byte).word);
  return bytes_.size() >= enough;
}

void small_frees::send() {
  if (bytes_.empty()) return;
  batch_.wait();
  std::uint8_t alone = alloc::small_objects::freed;
  if (all_freed_ == nullptr) {
    void* const source = take_(longest_run);
    if (source != nullptr) all_freed_ = static_cast<std::uint8_t*>(std::memset(source, alone, longest_run));
  }
  std::sort(bytes_.begin(), bytes_.end());
  for (std::size_t i = 0; i < bytes_.size();) {
    const location first(bytes_[i]);
    std::size_t run = 1;
    while (all_freed_ != nullptr && i + run < bytes_.size() && bytes_[i + run] == bytes_[i] + run) ++run;
    batch_.put(first.rank(), first.offset(), all_freed_ != nullptr ? all_freed_ : &alone, run);
    i += run;
  }
  batch_.post();
  bytes_.clear();
  if (all_freed_ == nullptr) batch_.wait();  // the source is of this call
}

}  // namespace tobi::net
