// SPDX-License-Identifier: Apache-2.0
// Futures and promises: records that any task completes and any task joins.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/deque/deque.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/task/failures.hpp"
#include "libcore/task/joins.hpp"
#include "libcore/task/records.hpp"
#include "libcore/task/scheduling.hpp"
#include "libcore/task/task_thread.hpp"
#include "tobi/future.hpp"

namespace tobi::tasks {

class futures {
 public:
  futures(records& all, failures& failed, joins& waiting, const task_thread& thread) noexcept
      : records_(all), failures_(failed), joins_(waiting), thread_(thread) {}
  void start(net::fabric& net, deque::deque& work, scheduling& sched) noexcept {
    net_ = &net;
    deque_ = &work;
    sched_ = &sched;
  }
  void stop() noexcept { net_ = nullptr; }

  detail::future_name create(std::uint32_t consumers, bool promise) noexcept;
  /// CHECKED: anybody may have set it before; else this is the one task that does.
  void set(detail::future_name which, const void* value, std::uint32_t bytes, bool checked) noexcept;
  /// In a catch clause.
  void fail(detail::future_name which, bool checked) noexcept;
  void join(detail::future_name which, void* value, std::uint32_t bytes);
  /// Outside of tasks: frees the futures of any_number.
  void end_of_run() noexcept;

 private:
  void must_be_unset(detail::future_name which);
  void show_awakened(bool goes_on) noexcept;

  records& records_;
  failures& failures_;
  joins& joins_;
  const task_thread& thread_;
  net::fabric* net_ = nullptr;
  deque::deque* deque_ = nullptr;
  scheduling* sched_ = nullptr;
  std::uint32_t last_serial_ = 0;       // of a future made here
  std::vector<std::uint64_t> to_free_;  // futures that last until the end of the run
};

}  // namespace tobi::tasks
