// SPDX-License-Identifier: Apache-2.0
// The fences of the global memory as the scheduler meets them: each does nothing where there is no global memory, and
// nothing as long as this worker has not used it.
#pragma once

#include <cstdint>

#include "arch/context.hpp"
#include "libcore/task/coherence.hpp"

namespace tobi::tasks {

class fences {
 public:
  /// MEMORY outlives its use; null: there is no global memory.
  void start(coherence* memory) noexcept { memory_ = memory; }

  [[nodiscard]] bool used() const noexcept { return memory_ != nullptr && memory_->used; }
  /// For how many nanoseconds this worker has waited for global memory that lies elsewhere, up to now.
  [[nodiscard]] std::uint64_t waited_ns() const noexcept { return memory_ == nullptr ? 0 : memory_->waited_ns; }
  /// All that this worker has written is at its home when this returns.
  void release() const noexcept {
    if (used()) memory_->release();
  }
  /// What the thief of an entry that is shown now must wait for; 0: nothing.
  [[nodiscard]] std::uint64_t release_lazily() const noexcept { return used() ? memory_->release_lazily() : 0; }
  /// What runs next may read what those of TICKET have written; 0: whichever worker has released. FROM: the rank that
  /// has shown what runs next, or -1. A ticket also comes to a worker that has not used global memory itself.
  void acquire(std::uint64_t ticket, int from = -1) const noexcept {
    if (memory_ != nullptr && (memory_->used || ticket != 0)) memory_->acquire(ticket, from);
  }
  /// Serves a release that a thief has asked for.
  void serve() const noexcept {
    if (used()) memory_->serve();
  }
  /// The task is at WHERE, and must hold no checkout there: ends the job if it does.
  void nothing_held(const char* where) const noexcept {
    if (used()) memory_->nothing_held(where);
  }
  /// The task may move at WHERE, and others may wait for its worker: nothing_held() and serve(), for one test.
  void may_move(const char* where) const noexcept {
    if (!used()) return;
    memory_->nothing_held(where);
    memory_->serve();
  }
  /// What forks look at from now on.
  void usual_bell(const volatile std::uint64_t* bell) const noexcept {
    if (memory_ != nullptr) {
      memory_->usual_bell(bell);
    } else {
      tobi_hot.doorbell = bell;
    }
  }

 private:
  coherence* memory_ = nullptr;
};

}  // namespace tobi::tasks
