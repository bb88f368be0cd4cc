// SPDX-License-Identifier: Apache-2.0
// Outstanding joins: tasks that wait, how many and for how long.
//
// A join is outstanding from the moment at which both sides have come to it until its task goes on. Where the child
// ended on a host with another clock that moment is not known: then it is when the record was last seen not to be done.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arch/clock.hpp"
#include "libcore/base/per_rank.hpp"
#include "libcore/task/record.hpp"
#include "libcore/task/standstill.hpp"
#include "libcore/trace/trace.hpp"
#include "tobi/statistics.hpp"

namespace tobi::sched {

class outstanding {
 public:
  outstanding(tasks::standstill& still, statistics& counts) noexcept : still_(still), counts_(counts) {}
  /// HOSTS: of each rank. It outlives its use.
  void start(const base::per_rank<int>& hosts, int rank) noexcept {
    hosts_ = &hosts;
    rank_ = rank;
    one_host_ = std::all_of(hosts.begin(), hosts.end(), [&](int h) { return h == hosts.front(); });
  }

  // --- clocks --------------------------------------------------------------------------------------------
  [[nodiscard]] bool one_clock_with(int rank) const noexcept { return (*hosts_)[rank] == (*hosts_)[rank_]; }
  /// Since when a task could have gone on that has come to its join, or was last seen to have to wait, at SINCE_NS.
  [[nodiscard]] std::uint64_t resumable_since(std::uint64_t since_ns, const tasks::record& done) const noexcept {
    return one_clock_with(done.by()) && done.done_ns > since_ns ? done.done_ns : since_ns;
  }
  /// The task that waits since SINCE_NS was just seen to have to wait on: returns since when it does.
  [[nodiscard]] std::uint64_t not_done_yet(std::uint64_t since_ns) const noexcept {
    return one_host_ ? since_ns : arch::now_ns();
  }

  // --- counts --------------------------------------------------------------------------------------------
  void waits() noexcept {
    ++counts_.outstanding_joins;
    still_.waits();
  }
  /// A task that is tied to this worker waits. MARK is an address of its own until it goes on.
  void tied_task_waits(const void* mark) noexcept {
    waits();
    if (trace::tracing != nullptr) trace::tracing->suspended(name_of(mark), trace::tracer::now());
  }
  /// It goes on, which it could since RESUMABLE_NS.
  void tied_task_goes_on(const void* mark, std::uint64_t resumable_ns) noexcept {
    still_.moves();
    still_.goes_on();
    went_on(resumable_ns);
    if (trace::tracing == nullptr) return;
    trace::tracing->ready_since(name_of(mark), resumable_ns);
    trace::tracing->resumed(name_of(mark), rank_, trace::tracer::now());
  }
  void went_on(std::uint64_t resumable_ns) noexcept {
    const std::uint64_t now_ns = arch::now_ns();
    if (now_ns > resumable_ns) counts_.outstanding_ns += now_ns - resumable_ns;
  }

 private:
  // Workers have stacks at the same addresses, so a name has the rank too.
  [[nodiscard]] std::uint64_t name_of(const void* mark) const noexcept {
    return net::location{rank_, net::location{reinterpret_cast<std::uintptr_t>(mark)}.offset()}.word;
  }

  tasks::standstill& still_;
  statistics& counts_;
  const base::per_rank<int>* hosts_ = nullptr;
  int rank_ = 0;
  bool one_host_ = true;
};

}  // namespace tobi::sched
