// SPDX-License-Identifier: Apache-2.0
#include "libcore/net/growing_heap.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "libcore/base/log.hpp"
#include "libcore/base/settings.hpp"

namespace tobi::net {

growing_heap::growing_heap(transports::transport& over, const transports::memory& region, heap_parts& words,
                           std::size_t unit)
    : over_(over),
      region_(region),
      words_(words),
      unit_(unit),
      usable_(region.bytes_at_first()),
      refused_bytes_(std::numeric_limits<std::size_t>::max()) {}

std::size_t growing_heap::grow(std::size_t bytes) noexcept {
  const std::size_t left = region_.bytes - usable_;
  if (bytes > left || words_.count == heap_parts::most) return 0;
  const std::size_t least = std::min(left, (bytes + unit_ - 1) / unit_ * unit_);
  if (least >= refused_bytes_) return 0;
  const bool is_last = words_.count + 1 == heap_parts::most;
  std::size_t more = is_last ? left : std::min(left, std::max(least, std::min(usable_, largest_part)));
  while (!add(more)) {
    if (more == least) {
      refused_bytes_ = least;
      tell_refused(least);
      return 0;
    }
    more = std::max(least, more / 2 / unit_ * unit_);
  }
  base::log(base::log_level::info, "the heap of this worker grows to " + base::format_size(usable_ >> 20 << 20) + ".");
  return more;
}

bool growing_heap::add(std::size_t bytes) noexcept {
  heap_parts::row& row = words_.rows[words_.count];
  transports::memory part = region_;
  part.base = static_cast<std::byte*>(region_.base) + usable_;
  part.bytes = bytes;
  part.fd_offset = region_.fd_offset + usable_;
  part.at_first = 0;
  if (over_.register_memory(part, row.key) != status::ok) return false;
  row.begin = usable_;
  usable_ += bytes;
  row.end = usable_;
  // Release: a peer that gets the count gets the row behind it.
  std::atomic_ref(words_.count).store(words_.count + 1, std::memory_order_release);
  return true;
}

void growing_heap::tell_refused(std::size_t bytes) noexcept {
  if (has_told_refused_) return;
  has_told_refused_ = true;
  const std::string why = over_.why_not_registered();
  base::log(base::log_level::warn, "the heap of this worker stays at " + base::format_size(usable_ >> 20 << 20) + ": " +
                                       std::string(over_.name()) + " does not register " + base::format_size(bytes) +
                                       " more" + (why.empty() ? "" : " (" + why + ")") + ".");
}

}  // namespace tobi::net
