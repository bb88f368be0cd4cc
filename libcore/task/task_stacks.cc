// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/task_stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "libcore/base/log.hpp"
#include "libcore/base/settings.hpp"

namespace tobi::tasks {

namespace {

constexpr std::size_t guard_bytes = 1u << 20;   // larger than a result or closure that skips over it is likely to be
constexpr std::size_t chunk_bytes = 64u << 20;  // of address space asked for at a time

std::size_t system_page() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

task_stacks::task_stacks(std::size_t bytes, const char* setting, std::string full)
    : bytes_((bytes + system_page() - 1) / system_page() * system_page()), setting_(setting), full_(std::move(full)) {}

namespace {
// A chunk holds as many stacks, each with its guard below, as its size allows, and one at least.
std::size_t stacks_per_chunk(std::size_t stack_bytes) noexcept {
  const std::size_t n = chunk_bytes / (stack_bytes + guard_bytes);
  return n == 0 ? 1 : n;
}
}  // namespace

task_stacks::~task_stacks() {
  for (std::byte* chunk : chunks_) munmap(chunk, stacks_per_chunk(bytes_) * (bytes_ + guard_bytes));
}

std::byte* task_stacks::take() {
  if (!free_.empty()) {
    std::byte* top = free_.back();
    free_.pop_back();
    return top;
  }
  const std::size_t n = stacks_per_chunk(bytes_);
  const std::size_t whole = n * (bytes_ + guard_bytes);
  const auto refused = [this, n](const char* what) {
    const std::size_t have = chunks_.empty() ? 0 : (chunks_.size() - 1) * n + made_;
    base::fatal(std::string("no memory for one more stack of a task, beside ") + std::to_string(have) + " of " +
                base::format_size(bytes_) + " (" + what + ": " + std::strerror(errno) + "); lower " + setting_ +
                ", nest less deeply, or raise the limits (ulimit -v, vm.max_map_count).");
  };
  if (chunks_.empty() || made_ == n) {
    void* fresh = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED) refused("mmap");
    chunks_.push_back(static_cast<std::byte*>(fresh));
    made_ = 0;
  }
  std::byte* low = chunks_.back() + made_ * (bytes_ + guard_bytes) + guard_bytes;
  if (mprotect(low, bytes_, PROT_READ | PROT_WRITE) != 0) refused("mprotect");
  ++made_;
  return low + bytes_;
}

bool task_stacks::is_guard(const void* address) const noexcept {
  const auto* at = static_cast<const std::byte*>(address);
  for (const std::byte* chunk : chunks_) {
    if (at < chunk || at >= chunk + stacks_per_chunk(bytes_) * (bytes_ + guard_bytes)) continue;
    return static_cast<std::size_t>(at - chunk) % (bytes_ + guard_bytes) < guard_bytes;
  }
  return false;
}

std::size_t task_stacks::touched_bytes() const noexcept {
  const std::size_t page = system_page();
  const std::size_t whole = stacks_per_chunk(bytes_) * (bytes_ + guard_bytes);
  std::vector<unsigned char> present(whole / page);
  std::size_t pages = 0;
  for (std::byte* chunk : chunks_) {
    if (mincore(chunk, whole, present.data()) != 0) continue;
    for (const unsigned char p : present) pages += p & 1u;
  }
  return pages * page;
}

}  // namespace tobi::tasks
