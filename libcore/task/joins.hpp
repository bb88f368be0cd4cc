// SPDX-License-Identifier: Apache-2.0
// Joins of children, and the two halves that futures and finishes share with them: to wait for a record, and to
// complete one.
//
// A task may go on in another process behind wait_for(): `this` is the part of the worker there, which is at the same
// address, and what it refers to by pointers is that process's.
#pragma once

#include <cstdint>

#include "libcore/net/fabric.hpp"
#include "libcore/task/failures.hpp"
#include "libcore/task/fences.hpp"
#include "libcore/task/poller.hpp"
#include "libcore/task/record.hpp"
#include "libcore/task/records.hpp"
#include "libcore/task/scheduling.hpp"
#include "libcore/task/shared_objects.hpp"
#include "libcore/task/task_thread.hpp"

namespace tobi::tasks {

class joins {
 public:
  joins(records& all, failures& failed, shared_objects& objects, const fences& memory, const task_thread& thread,
        poller& mover) noexcept
      : records_(all), failures_(failed), objects_(objects), fences_(memory), thread_(thread), poller_(mover) {}
  void start(net::fabric& net, scheduling& sched) noexcept {
    net_ = &net;
    sched_ = &sched;
  }

  /// Of the child whose handle says HANDLE_RECORD: waits, and copies the result. Throws task_error.
  void join(std::uint64_t& handle_record, void* result, std::uint32_t bytes);
  /// The same for a handle whose owner lost interest: drops what the child threw. Returns whether there is a result,
  /// which is copied where BYTES is not 0.
  bool take(std::uint64_t& handle_record, void* result, std::uint32_t bytes) noexcept;

  /// A task has come to WHAT, where it may have to wait.
  void come_to(const char* what) noexcept;
  /// Returns when the record at WHERE is done; COPY is what it says then.
  void wait_for(std::uint64_t where, record& copy);
  /// The running task goes on behind a record that is done: COPY. SC'23, figure 5: Acquire #1.
  void goes_on_behind(const record& copy) const noexcept {
    sched_->goes_on_behind(copy);
    // What a task wrote that ended on this worker is here: it was written through this cache, or that task has acquired
    // it by it.
    if (fences_.used() && copy.by() != net_->rank()) fences_.acquire(0, copy.by());
  }
  /// Makes the record at WHERE done. SERIAL: of a future, else 0.
  void complete(std::uint64_t where, record_status status, const void* value, std::uint32_t bytes,
                std::uint32_t serial = 0) noexcept;

 private:
  records& records_;
  failures& failures_;
  shared_objects& objects_;
  const fences& fences_;
  const task_thread& thread_;
  poller& poller_;
  net::fabric* net_ = nullptr;
  scheduling* sched_ = nullptr;
};

}  // namespace tobi::tasks
