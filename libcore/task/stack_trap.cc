// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/stack_trap.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "libcore/base/log.hpp"

namespace tobi::tasks {

namespace {

constexpr int poison = 0xdb;  // as an address it is not canonical: a pointer read from poison faults

std::uintptr_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uintptr_t page_of(std::uintptr_t address) noexcept { return address & ~(page_bytes() - 1); }
std::uintptr_t page_end(std::uintptr_t address) noexcept { return page_of(address + page_bytes() - 1); }

void allow(std::uintptr_t from, std::uintptr_t to, int access) noexcept {
  if (from >= to || mprotect(reinterpret_cast<void*>(from), to - from, access) == 0) return;
  base::fatal("cannot change the protection of the task stacks (mprotect); run without TOBI_DEBUG_MIGRATE.");
}

}  // namespace

void stack_trap::start(std::uintptr_t low, std::uintptr_t high) noexcept {
  low_ = low;
  high_ = closed_from_ = high;
  parent_from_ = parent_to_ = 0;
}

std::uintptr_t stack_trap::close(std::uintptr_t sp, std::uintptr_t base) noexcept {
  std::memset(reinterpret_cast<void*>(sp), poison, base - sp);
  allow(parent_from_, parent_to_, PROT_READ | PROT_WRITE);
  parent_from_ = parent_to_ = 0;
  const std::uintptr_t limit = page_of(sp);
  allow(limit, closed_from_, PROT_NONE);
  if (limit < closed_from_) closed_from_ = limit;
  if (limit >= low_ + (high_ - low_) / 2) return limit;
  // The topmost page stays the root's: a base at the very top is what tells it from others.
  const std::uintptr_t top = high_ - page_bytes();
  open(top);
  if (page_end(base) < top) {
    parent_from_ = limit;
    parent_to_ = page_end(base);
    allow(parent_from_, parent_to_, PROT_NONE);
  }
  return top;
}

void stack_trap::open(std::uintptr_t up_to) noexcept {
  if (high_ == 0) return;
  allow(parent_from_, parent_to_, PROT_READ | PROT_WRITE);
  parent_from_ = parent_to_ = 0;
  const std::uintptr_t end = page_end(up_to);
  allow(closed_from_, end, PROT_READ | PROT_WRITE);
  allow(end, closed_from_, PROT_NONE);
  closed_from_ = end;
}

}  // namespace tobi::tasks
