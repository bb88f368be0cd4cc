// SPDX-License-Identifier: Apache-2.0
#include "tests/emulators/utofu/lines.hpp"

#include <atomic>

namespace emulated {

namespace {

std::byte now(std::byte& at) noexcept { return std::atomic_ref(at).load(std::memory_order_relaxed); }

}  // namespace

void watched_lines::watch(std::byte* base) noexcept {
  line l;
  l.base = base;
  for (std::size_t i = 0; i < line_bytes; ++i) l.was[i] = now(base[i]);
  lines_.push_back(l);
}

void watched_lines::begin(std::byte* at, std::size_t bytes) noexcept {
  first_ = at;
  end_ = at + bytes;
  const std::size_t into = reinterpret_cast<std::uintptr_t>(at) % line_bytes;
  std::byte* const low = at - into;
  std::byte* const last = end_ - 1 - reinterpret_cast<std::uintptr_t>(end_ - 1) % line_bytes;
  if (into != 0 || bytes < line_bytes) watch(low);
  if (last != low && last + line_bytes != end_) watch(last);
}

void watched_lines::written(const std::byte* at, std::size_t bytes) noexcept {
  if (asked_) return;
  for (line& l : lines_) {
    if (at + bytes <= l.base || at >= l.base + line_bytes) continue;
    for (std::size_t i = 0; i < line_bytes; ++i) {
      if (l.base + i >= at && l.base + i < at + bytes) l.was[i] = now(l.base[i]);
    }
  }
}

bool watched_lines::changed() noexcept {
  asked_ = true;
  bool any = false;
  for (line& l : lines_) {
    for (std::size_t i = 0; i < line_bytes; ++i) {
      if (!own(l.base + i) && now(l.base[i]) != l.was[i]) l.hurt = any = true;
    }
  }
  return any;
}

bool watched_lines::hurts(const std::byte* at, std::size_t bytes) const noexcept {
  for (const line& l : lines_) {
    if (l.hurt && at + bytes > l.base && at < l.base + line_bytes) return true;
  }
  return false;
}

}  // namespace emulated
