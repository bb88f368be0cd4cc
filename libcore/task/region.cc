// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/region.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "libcore/base/log.hpp"
#include "tobi/detail/fork.hpp"

namespace tobi::tasks {

void region::start(net::fabric& net, std::byte* low, std::byte* high, deque::image_room& images, bool traps) noexcept {
  net_ = &net;
  low_ = reinterpret_cast<std::uintptr_t>(low);
  high_ = reinterpret_cast<std::uintptr_t>(high);
  if (traps) trap_.start(low_, high_);
  incoming_.start(net, images);
}

std::uintptr_t region::place_root(const void* argument, std::size_t argument_bytes) noexcept {
  const std::uintptr_t at = (high_ - argument_bytes) & ~std::uintptr_t{63};
  trap_.open(high_);
  std::memcpy(reinterpret_cast<void*>(at), argument, argument_bytes);
  return at;
}

std::uint64_t region::evacuate(std::uintptr_t sp, std::uintptr_t base, std::uint64_t die_record,
                               std::uint64_t waiting_for) {
  auto* saved =
      static_cast<deque::image*>(objects_.need(sizeof(deque::image) + (base - sp), "to evacuate a stack", base - sp));
  const std::uint64_t where = net_->here(saved).word;
  *saved = deque::image{sp, base - sp, die_record, waiting_for, scopes_.at(sp), deque::image_mark ^ where, {}};
  std::memcpy(saved + 1, reinterpret_cast<const void*>(sp), base - sp);
  ++counts_.evacuations;
  counts_.evacuated_bytes += base - sp;
  return where;
}

std::uintptr_t region::restore(net::location where, const deque::image& head) {
  scopes_.entered(head.finish);
  const std::uintptr_t base = head.sp + head.bytes;
  trap_.open(base);
  incoming_.frames(where, head);
  objects_.free(where);
  cut_from_parent(base);
  return base;
}

void region::tell_parent(const arch::saved_frame& frame, std::uintptr_t base) noexcept {
  if (frame.handle == nullptr) return;
  const auto at = reinterpret_cast<std::uintptr_t>(frame.handle);
  TOBI_ASSERT(
      at >= reinterpret_cast<std::uintptr_t>(&frame) && at < base,
      "a tobi::task must live among the locals of the task that spawned it, not on the heap or in a parent's frame");
  static_cast<detail::handle*>(frame.handle)->record = frame.record;
}

std::uint64_t region::peak() const noexcept {
  // Pages of the region exist once they were touched, and stay: the lowest one is the high-water mark.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> present(bytes() / page);
  if (mincore(reinterpret_cast<void*>(low_), bytes(), present.data()) != 0) return 0;
  const auto* high = reinterpret_cast<const std::byte*>(high_);
  for (std::size_t i = 0; i < present.size(); ++i) {
    if ((present[i] & 1) == 0) continue;
    const std::byte* lowest = reinterpret_cast<const std::byte*>(low_ + i * page);
    if (trap_.holds(reinterpret_cast<std::uintptr_t>(lowest))) break;
    while (lowest < high && *lowest == std::byte{0}) ++lowest;
    return static_cast<std::uint64_t>(high - lowest);
  }
  return 0;
}

}  // namespace tobi::tasks
