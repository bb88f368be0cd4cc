// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/task_results.hpp"

#include <cstring>
#include <utility>

#include "arch/context.hpp"
#include "tobi/detail/fork.hpp"

namespace tobi::tasks {

// Where the parent waits right above for the task to return, and by the fast path, the task is to take the slow one. It
// has joined or lost all that it forked, so the deque's last entry is its parent's: the task's own frame does not say
// where that lies, a compiler aligns it as it likes. Where children are stolen the parent does not wait: it has gone
// on.
void task_results::return_slowly() noexcept {
  if (!sched_->moves_tasks() || deque_->at_base()) return;
  const std::uintptr_t parent = deque_->task_base();
  if (parent < tobi_hot.split_sp) deque_->return_slowly(parent);
}

void* task_results::slot(std::uint32_t bytes, std::uint32_t offset) noexcept {
  return_slowly();
  if (large_.size() < bytes) large_.resize(bytes);
  large_bytes_ = bytes;
  large_offset_ = offset;
  return large_.data();
}

void task_results::fail() noexcept {
  failure_ = failures_.keep();
  return_slowly();
}

void task_results::give_to(void* handle) noexcept {
  const std::uint64_t failed = std::exchange(failure_, 0);
  const std::uint32_t large = std::exchange(large_bytes_, 0);
  if (failed != 0) {
    static_cast<detail::handle*>(handle)->record = failed | failure_tag;
  } else if (large != 0) {
    std::memcpy(static_cast<std::byte*>(handle) + large_offset_, large_.data(), large);
  }
}

void task_results::complete(std::uint64_t where, std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t failed = std::exchange(failure_, 0);
  const std::uint32_t large = std::exchange(large_bytes_, 0);
  fences_.nothing_held("task's end");
  if (where == 0) return;
  if (failed != 0) {
    joins_.complete(where, record_status::error, &failed, sizeof failed);
  } else if (large != 0) {
    joins_.complete(where, record_status::value, large_.data(), large);
  } else {
    const std::uint64_t value[] = {a, b};
    joins_.complete(where, record_status::value, value, sizeof value);
  }
}

}  // namespace tobi::tasks
