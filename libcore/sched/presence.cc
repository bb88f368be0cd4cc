// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/presence.hpp"

#include <atomic>
#include <string>

#include "arch/clock.hpp"
#include "arch/heavy_fence.hpp"
#include "libcore/base/log.hpp"
#include "libcore/deque/call_attendant.hpp"
#include "libcore/trace/trace.hpp"

namespace tobi::sched {

void presence::start(const worker_parts& parts, deque::deque& work, bool shows_ready, bool all_near) {
  net_ = parts.net;
  deque_ = &work;
  window_ = parts.window;
  debug_migrate_ = parts.debug_migrate;
  const bool thieves = !parts.choice->none();
  ready_.start(*parts.net, work.shown_lists(), thieves && shows_ready);
  arrivals_.start(*parts.net, *parts.arrivals);
  offers_ = thieves && shows_ready;
  sights_.start(*parts.net, work, *parts.sights, *parts.nodes, parts.near, !all_near);
  if (thieves) start_attendant(parts, all_near);
}

void presence::start_attendant(const worker_parts& parts, bool all_can_call) {
  constexpr const char* so =
      ": what this worker has forked can be stolen only at its next fork, so tasks that compute "
      "for long without one run less in parallel.";
  transports::transport& transport = net_->transport();
  if (!transport.caps().any_thread) {
    base::log_for_node(base::log_level::warn, std::string(transport.name()) + " takes calls of one thread alone" + so);
    return;
  }
  if (const std::string why = arch::prepare_heavy_fence(); !why.empty()) {
    base::log_for_node(base::log_level::warn, why + so);
    return;
  }
  const bool polls = poller_.must_poll();
  attendant_ = std::make_unique<attendant>(
      *this, *window_, attendant::habits{polls, transport.wait_fd(), polls || !all_can_call, parts.workers_per_core});
}

void presence::set_busy(bool in_a_task) noexcept {
  thread_.set_inside(in_a_task);
  if (in_a_task) thief_.wakes();
  const std::uint64_t part = thief_.of_part() ? deque::runs_part : 0;
  std::atomic_ref(window_->busy).store(in_a_task ? deque_->busy_word() | part : 0, std::memory_order_relaxed);
  if (attendant_ != nullptr) in_a_task ? attendant_->task_begins() : attendant_->task_ends();
  sights_.tell();
  if (trace::tracing == nullptr) return;
  if (in_a_task) {
    trace::tracing->task_begins();
  } else {
    trace::tracing->task_ends();
  }
}

void presence::show_more() noexcept {
  ready_.show();
  sights_.tell();
  if (ready_.has_more() && attendant_ != nullptr) [[unlikely]] {
    attendant_->stay();
  }
}

bool presence::send(int rank, std::uint64_t image, bool tied) {
  if (!arrivals_.send(rank, tied ? image | deque::for_owner_alone : image)) return false;
  sleepers_.call_rank(rank);
  // A worker on another node is one whose attendant looks by itself.
  std::byte* const there = net_->mapped(rank);
  if (there != nullptr) {
    deque::bring_to_attendant(*reinterpret_cast<deque::steal_window*>(there + net_->here(window_).offset()));
  }
  return true;
}

std::uint64_t presence::take_arrival() noexcept {
  if (!arrivals_.any()) return 0;
  const std::uint64_t image = arrivals_.take(true);
  if (image != 0) still_.took();
  return image & ~deque::for_owner_alone;
}

// This worker computes.
void presence::offer_arrivals() noexcept {
  while (const std::uint64_t image = arrivals_.take(false)) {
    still_.took();
    ready_.push(image);
  }
}

void presence::stays(std::uint64_t image, std::uint64_t record) {
  stayed_.push(*net_, {image, record, arch::now_ns()});
}

void presence::awaken_done() noexcept {
  tasks::wait_queue::waiting one{};
  while (stayed_.take_near(*net_, 0, one)) {
    if (trace::tracing != nullptr) trace::tracing->ready(one.task);
    ready_.push(one.task);
  }
}

void presence::poll() noexcept {
  net_->transport().progress();
  show_ready();
  fences_.serve();
  if (thread_.inside_task()) deque_->serve(deque::server::owner);
}

bool presence::attend() noexcept {
  if (!thread_.inside_task()) return false;
  if (poller_.must_poll()) net_->transport().progress();
  fences_.serve();
  if (has_arrivals()) offer_arrivals();
  awaken_stayed();
  ready_.show();
  // Where each continuation is evacuated at its fork there is nothing to show, and an entry that has just been pushed
  // is not for thieves.
  if (asked_for_work() && !debug_migrate_ && !keeps_entries_) {
    const std::uint64_t before = deque_->counts().published;
    deque_->serve(deque::server::attendant);
    // The one that has asked may sleep again. A worker that shows something at a fork calls nobody: it has short tasks.
    sleepers_.call(deque_->counts().published - before);
  }
  sights_.tell();
  // The other side is bring_to_attendant().
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return ready_.has_more() || has_arrivals() || keeps_entries_;
}

}  // namespace tobi::sched
