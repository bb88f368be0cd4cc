// SPDX-License-Identifier: Apache-2.0
// What the deque asks where it shows an entry to thieves, or might.
#pragma once

#include <cstdint>

#include "libcore/deque/steal_word.hpp"
#include "libcore/task/fences.hpp"
#include "libcore/task/records.hpp"
#include "libcore/task/scopes.hpp"
#include "libcore/task/task_thread.hpp"

namespace tobi::tasks {

class publisher final : public deque::record_source {
 public:
  publisher(records& made, const scopes& governing, const fences& memory, const task_thread& thread) noexcept
      : records_(made), scopes_(governing), fences_(memory), thread_(thread) {}

  std::uint64_t make_record() noexcept override { return records_.make(); }
  void drop_record(std::uint64_t record) noexcept override { records_.drop(record); }
  [[nodiscard]] std::uint64_t finish_at(std::uintptr_t sp) const noexcept override { return scopes_.at(sp); }
  [[nodiscard]] bool keeps_entries() const noexcept override { return thread_.has_exceptions(); }
  std::uint64_t release_ticket() noexcept override { return fences_.release_lazily(); }

 private:
  records& records_;
  const scopes& scopes_;
  const fences& fences_;
  const task_thread& thread_;
};

}  // namespace tobi::tasks
