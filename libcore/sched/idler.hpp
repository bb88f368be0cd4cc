// SPDX-License-Identifier: Apache-2.0
// What a worker does that has found nothing to run: it pauses, then gives its core away, then sleeps, and serves others
// meanwhile. When it has slept for long it asks whether anything can run anywhere.
#pragma once

#include <atomic>
#include <cstdint>

#include "libcore/deque/arrivals.hpp"
#include "libcore/deque/deque.hpp"
#include "libcore/deque/ready.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/sched/parts.hpp"
#include "libcore/sched/sleepers.hpp"
#include "libcore/sched/thief.hpp"
#include "libcore/task/fences.hpp"
#include "libcore/task/shared_objects.hpp"
#include "libcore/task/standstill.hpp"

namespace tobi::sched {

class idler {
 public:
  idler(tasks::shared_objects& objects, const tasks::fences& memory, thief& of_others, tasks::standstill& still,
        const deque::ready_contexts& ready, const deque::arrivals& arrived, sleepers& others) noexcept
      : objects_(objects),
        fences_(memory),
        thief_(of_others),
        still_(still),
        ready_(ready),
        arrivals_(arrived),
        sleepers_(others) {}
  void start(const worker_parts& parts, deque::deque& work) noexcept;

  /// The run is over when the word DONE, which others put to, holds DONE_VALUE.
  void run_begins(std::uint64_t& done, std::uint64_t done_value) noexcept {
    done_ = &done;
    done_value_ = done_value;
  }
  /// Acquire: what the root wrote before it told us is read after this.
  [[nodiscard]] bool run_is_over() const noexcept {
    return std::atomic_ref(*done_).load(std::memory_order_acquire) == done_value_;
  }

  /// Between two tasks, or while one waits in place: longer, as ATTEMPTS grows. True when it has come to sleeping.
  bool idle(unsigned& attempts) noexcept;
  /// Whether tasks wait for records that this worker must look at: a message may have completed one.
  void looks_at_records(bool any) noexcept { looks_at_records_ = any; }
  /// After a look at all that could run here, now and then: nothing has been found since SINCE_NS. Ends the job when
  /// nothing can run anywhere.
  void nothing_runs_since(std::uint64_t since_ns) noexcept;
  /// Returns when the deque is quiet: thieves have copied all that they have claimed.
  void settle() noexcept;

 private:
  [[nodiscard]] bool pauses(unsigned attempts) const noexcept;
  void nap() noexcept;

  tasks::shared_objects& objects_;
  const tasks::fences& fences_;
  thief& thief_;
  tasks::standstill& still_;
  const deque::ready_contexts& ready_;
  const deque::arrivals& arrivals_;
  sleepers& sleepers_;
  net::fabric* net_ = nullptr;
  deque::deque* deque_ = nullptr;
  deque::steal_window* window_ = nullptr;
  bool oversubscribed_ = false;
  std::uint64_t* done_ = nullptr;
  std::uint64_t done_value_ = 0;
  bool looks_at_records_ = false;
  bool slept_through_ = false;  // the last nap, where the transport would have ended it
};

}  // namespace tobi::sched
