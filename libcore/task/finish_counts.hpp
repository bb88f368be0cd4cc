// SPDX-License-Identifier: Apache-2.0
// finish and async: counting what was taken.
//
// A strand is the body of a finish, or an async, up to its end. As long as nobody takes an async's continuation the two
// are one strand to the rest of the world: the async returns into it. When it is taken, the async has a record, like
// any child, and the continuation finds that in its handle. It then adds one to the finish's count and puts the finish
// itself into the record, where a join would put its waiting task; the async's end finds it there and takes one off.
//
// Why the count cannot come to 0 early: it starts at 1, for the body's strand, which gives that up at the very end. A
// strand that has ended has first counted all asyncs that it was taken away from. So an async that is not counted yet
// has a parent strand that has not ended; that one is counted, or its own parent has not ended; and so on up to the
// body's. Nothing else counts, so the strand that comes to 0 is the last, once, and completes the finish's record.
//
// That needs a record in which somebody other than its joiner waits, which is the greedy join's. Under the other
// schedulers each async is a strand from its fork on: its parent adds one before, and its end takes one off. The
// argument is the same, and shorter.
#pragma once

#include <cstdint>

#include "libcore/deque/deque.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/task/failures.hpp"
#include "libcore/task/fences.hpp"
#include "libcore/task/joins.hpp"
#include "libcore/task/scheduling.hpp"
#include "libcore/task/scopes.hpp"
#include "libcore/task/shared_objects.hpp"
#include "libcore/task/task_thread.hpp"
#include "tobi/finish.hpp"

namespace tobi::tasks {

class finish_counts {
 public:
  finish_counts(shared_objects& objects, failures& failed, scopes& governing, const fences& memory, joins& waiting,
                const task_thread& thread) noexcept
      : objects_(objects), failures_(failed), scopes_(governing), fences_(memory), joins_(waiting), thread_(thread) {}
  void start(net::fabric& net, deque::deque& work, scheduling& sched) noexcept {
    net_ = &net;
    deque_ = &work;
    sched_ = &sched;
  }

  void begin(detail::scope_marker& marker) noexcept;
  /// Waits for all that FINISH, of MARKER, governs. Throws finish_error.
  void end(detail::scope_marker& marker);
  /// A finish that governs no scope: asyncs are made members of it one by one, by new_async().
  std::uint64_t begin_group() noexcept;
  /// Waits for all strands of FINISH but the caller's. Throws finish_error.
  void end(std::uint64_t finish);
  /// In a catch clause: keeps the exception for the end of FINISH.
  void fail(std::uint64_t finish) noexcept;
  /// The finish around the caller, perhaps with detail::async_counted. Ends the job where there is none.
  std::uint64_t async_finish() noexcept;
  /// FINISH as its new async is told of it.
  std::uint64_t new_async(std::uint64_t finish) noexcept;
  void async_begin(detail::scope_marker& marker, std::uint64_t finish) noexcept;
  void async_end(const detail::scope_marker& marker, std::uint64_t finish) noexcept;
  /// The caller was taken away from its async.
  void async_parted(std::uint64_t& handle_record, std::uint64_t finish) noexcept;
  /// One of the finish's strands has ended.
  void strand_ended(std::uint64_t finish) noexcept;

 private:
  std::uint64_t make(const char* what) noexcept;
  void close(const detail::scope_marker& marker) noexcept;
  [[noreturn]] void throw_all(std::uint64_t first);

  shared_objects& objects_;
  failures& failures_;
  scopes& scopes_;
  const fences& fences_;
  joins& joins_;
  const task_thread& thread_;
  net::fabric* net_ = nullptr;
  deque::deque* deque_ = nullptr;
  scheduling* sched_ = nullptr;
};

}  // namespace tobi::tasks
