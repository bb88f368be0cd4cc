// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/pause.hpp"

#include <atomic>
#include <cstddef>
#include <string>

#include "libcore/base/log.hpp"
#include "libcore/job/job.hpp"

namespace tobi::job {

bool job::take_end_of_epoch() {
  const net::location word{0, offsetof(control_block, epoch_taken)};
  std::uint64_t seen = 0;
  net_->get(word, &seen, sizeof seen);
  return seen != epoch_ && net_->compare_swap(word, seen, epoch_) == seen;
}

detail::future_name job::ask_for_pause(pause what) {
  const char* const call = what.restores ? "tobi::collection_handle::restore" : "tobi::collection_handle::process";
  if (collections_->processing()) {
    base::fatal(std::string(call) + " was called inside a task of a collection; let a task of tobi::run call it.",
                base::exit_usage);
  }
  if (!sched::this_worker().inside_task()) {
    base::fatal(std::string(call) +
                    " was called outside of tobi::run; there the collection itself has such a function, which all "
                    "ranks call.",
                base::exit_usage);
  }
  if (sched_name() == "child_rtc") {
    base::fatal(std::string(call) +
                    " needs a task that can wait while its worker does something else, which TOBI_SCHED=child_rtc does "
                    "not have; choose another scheduler.",
                base::exit_usage);
  }
  if (collections_->find(what.number) == nullptr) {
    base::fatal(std::string(call) + " names a task collection that has ended.", base::exit_usage);
  }
  if (!take_end_of_epoch()) {
    base::fatal(std::string(call) +
                    " was called by two tasks at once, or by one that the run's root has not waited for; let one task "
                    "process collections, one after the other.",
                base::exit_usage);
  }
  waiter_ = sched::this_worker().futures().create(1, true);
  if (global_->memory()->used) global_->memory()->release();
  control_->all.notice.result = what.as_result(rank()).word;
  std::atomic_ref(control_->all.notice.epoch).store(epoch_, std::memory_order_release);
  return waiter_;
}

// On this rank's own stack, between two parts of a run.
void job::make_pause() {
  const net::location asked{control_->all.notice.result};
  if (together_->tells(asked.rank())) {
    together_->tell_nodes(asked.rank(), epoch_);
    together_->tell_neighbours(epoch_, asked.word);
  }
  const pause what = pause::from(asked);
  pool::collection& part = *collections_->find(what.number);
  detail::future_name waiter{};
  if (asked.rank() == rank()) waiter = waiter_;
  tasks::futures& futures = sched::this_worker().futures();
  try {
    if (what.restores) {
      part.restore();
      coherent_barrier();
    } else {
      collections_->process(part);
    }
    ++epoch_;
    if (asked.rank() == rank()) futures.set(waiter, nullptr, 0, false);
  } catch (const task_error&) {
    ++epoch_;
    if (asked.rank() == rank()) futures.fail(waiter, false);
  }
  together_->enter(call::run);
}

}  // namespace tobi::job
