// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/pause.hpp"

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include "libcore/base/log.hpp"
#include "libcore/job/job.hpp"

namespace tobi::job {

namespace {
// What the word at rank 0 holds when an epoch is taken.
enum class taken_by : std::uint64_t { task, root };
std::uint64_t taken(std::uint64_t epoch, taken_by whom) noexcept {
  return epoch << 1 | static_cast<std::uint64_t>(whom);
}
}  // namespace

job::epoch_end job::take_end_of_epoch(bool for_root) {
  const net::location word{0, offsetof(control_block, epoch_taken)};
  const std::uint64_t mine = taken(epoch_, for_root ? taken_by::root : taken_by::task);
  std::uint64_t seen = 0;
  net_->get(word, &seen, sizeof seen);
  if (seen >> 1 != epoch_) {
    const std::uint64_t before = net_->compare_swap(word, seen, mine);
    if (before == seen) return epoch_end::own;
    seen = before;
  }
  return seen == taken(epoch_, taken_by::root) ? epoch_end::of_root : epoch_end::of_task;
}

bool job::may_end_root(detail::future_name& ends) {
  // Where it costs nothing to speak of, always: the first pause of a job may be asked for at this moment.
  const bool is_near = rank() == 0 || net_->mapped(0) != nullptr;
  if (!is_near && !has_paused_ && !collections_->any()) return true;
  if (take_end_of_epoch(true) == epoch_end::own) return true;
  if (runs_ == 1) {
    base::fatal(
        "the root of tobi::run has ended while one of its tasks waits for all workers (in on_all_workers, "
        "allocate_all, "
        "free_all, or a task collection's process or restore); join that task.",
        base::exit_usage);
  }
  ends = wait_for_pause();
  return false;
}

detail::future_name job::wait_for_pause() {
  waiting_for_pause_.push_back(sched::this_worker().futures().create(1, true));
  return waiting_for_pause_.back();
}

void job::awaken(const std::vector<detail::future_name>& waiting) {
  for (const detail::future_name& each : waiting) sched::this_worker().futures().set(each, nullptr, 0, false);
}

void job::check_may_pause(const char* call) const {
  if (collections_->processing()) {
    base::fatal(std::string(call) + " was called inside a task of a collection; let a task of tobi::run call it.",
                base::exit_usage);
  }
  if (!sched::this_worker().sched().puts_tasks_aside()) {
    base::fatal(std::string(call) +
                    (settings_.work_span.empty()
                         ? " needs a task that can wait while its worker does something else, which "
                           "TOBI_SCHED=child_rtc does not have; choose another scheduler."
                         : " needs a task that can wait while its worker does something else, which TOBI_WORK_SPAN "
                           "does not have; call it outside of tobi::run to measure this program."),
                base::exit_usage);
  }
  if (global_->memory()->used) global_->memory()->nothing_held(call);
}

void job::check_collection(const pause& what, const char* call) const {
  if (!sched::this_worker().inside_task()) {
    base::fatal(std::string(call) +
                    " was called outside of tobi::run; there the collection itself has such a function, which all "
                    "ranks call.",
                base::exit_usage);
  }
  if (collections_->find(static_cast<std::uint32_t>(what.of)) == nullptr) {
    base::fatal(std::string(call) + " names a task collection that has ended.", base::exit_usage);
  }
}

bool job::may_pause_now(detail::future_name& ends) {
  const epoch_end mine = take_end_of_epoch(false);
  if (mine == epoch_end::of_root && runs_ == 1) {
    base::fatal(
        "a task waits for all workers (in on_all_workers, allocate_all, free_all, or a task collection's process or "
        "restore) when the root of tobi::run has ended; join that task.",
        base::exit_usage);
  }
  if (mine != epoch_end::own) {
    ends = wait_for_pause();
    return false;
  }
  ends = sched::this_worker().futures().create(1, true);
  return true;
}

pause_asked job::ask_to_process(std::uint32_t number, bool restores) {
  const pause what{restores ? pause::kind::restore : pause::kind::process, number};
  const char* const call = restores ? "tobi::collection_handle::restore" : "tobi::collection_handle::process";
  check_may_pause(call);
  check_collection(what, call);
  pause_asked asked{};
  asked.is_own = may_pause_now(asked.ends);
  if (asked.is_own) begin_pause(what, asked.ends);
  return asked;
}

pause_asked job::ask_to_call(const detail::root& what) {
  check_may_pause("tobi::on_all_workers (or allocate_all, free_all)");
  pause_asked asked{};
  asked.is_own = may_pause_now(asked.ends);
  if (asked.is_own) begin_pause({pause::kind::call, keep_call(what)}, asked.ends);
  return asked;
}

void job::begin_pause(const pause& what, detail::future_name ends) {
  waiter_ = ends;
  if (global_->memory()->used) global_->memory()->release();
  control_->all.notice.result = what.as_result(rank()).word;
  std::atomic_ref(control_->all.notice.epoch).store(epoch_, std::memory_order_release);
}

// On this rank's own stack, between two parts of a run.
void job::make_pause() {
  const net::location asked{control_->all.notice.result};
  if (together_->tells(asked.rank())) {
    together_->tell_nodes(asked.rank(), epoch_);
    together_->tell_neighbours(epoch_, asked.word);
    sched::this_worker().asleep().call_all();
  }
  const pause what = pause::from(asked);
  const bool is_own = asked.rank() == rank();
  // What is called may run tasks, and they may ask for a pause.
  const detail::future_name waiter = waiter_;
  const std::vector<detail::future_name> others = std::exchange(waiting_for_pause_, {});
  has_paused_ = true;
  tasks::futures& futures = sched::this_worker().futures();
  try {
    std::vector<std::byte> result;
    switch (what.what) {
      case pause::kind::restore:
        collections_->find(static_cast<std::uint32_t>(what.of))->restore();
        coherent_barrier();
        break;
      case pause::kind::process:
        collections_->process(*collections_->find(static_cast<std::uint32_t>(what.of)));
        break;
      case pause::kind::call:
        result = call_with_all({asked.rank(), what.of});
        break;
    }
    ++epoch_;
    if (is_own) futures.set(waiter, result.data(), static_cast<std::uint32_t>(result.size()), false);
  } catch (const task_error&) {
    ++epoch_;
    if (is_own) futures.fail(waiter, false);
  }
  if (is_own && what.what == pause::kind::call) objects_->free_local(net_->local({rank(), what.of}));
  awaken(others);
  together_->enter(call::run);
}

}  // namespace tobi::job
