// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/thief.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "arch/clock.hpp"
#include "libcore/task/poller.hpp"
#include "libcore/trace/trace.hpp"

namespace tobi::sched {

void thief::start(const worker_parts& parts, deque::deque& work, const numbering& workers, bool far) {
  net_ = parts.net;
  deque_ = &work;
  choice_ = parts.choice;
  nodes_ = parts.nodes;
  workers_ = &workers;
  node_ = workers.node_of(net_->rank(), *nodes_);
  all_ = {0, workers.count()};
  own_node_ = around_ = surroundings::of_node(node_, all_);
  window_ = parts.window;
  own_part_ = own_part(parts.oversubscribed, tasks::poller::must_poll(net_->transport().caps()));
  always_looks_ = parts.oversubscribed;
  // The count of those that look at other nodes is in the window of the node's first rank.
  const int rank = net_->rank();
  const int first = parts.near.empty() ? rank : std::min(rank, parts.near.front());
  std::byte* const heap_of_first = first == rank ? nullptr : net_->mapped(first);
  auto* const window = heap_of_first == nullptr
                           ? parts.window
                           : reinterpret_cast<deque::steal_window*>(heap_of_first + net_->here(parts.window).offset());
  lookout_.start(work, *parts.choice, sights_, parts.near, far, parts.cores, window->looks_far,
                 static_cast<std::uint64_t>(rank) + 1);
}

// Which worker to try; -1: nobody.
int thief::look(bool near_alone) noexcept {
  if (trace::tracing != nullptr) trace::tracing->steal_begins(arch::now_ns());
  const int victim = lookout_.next(near_alone);
  if (victim >= 0) return victim;
  if (lookout_.saw_nothing_at() >= 0) ++counts_.steals_failed;
  if (trace::tracing != nullptr) trace::tracing->looked(lookout_.saw_nothing_at(), trace::tracer::now());
  lookout_.tried();
  return -1;
}

// Of its group alone, where it MAY not go further; -1: nobody.
int thief::next_victim(reach may) noexcept {
  if (sleeps_ || always_looks_) {
    const int seen = look(may == reach::near);
    if (seen < 0 || may != reach::near || !is_outside(seen)) return seen;
    lookout_.tried();
    return -1;
  }
  if (may != reach::near) return choice_->next();
  constexpr int draws = 8;
  for (int i = 0; i < draws; ++i) {
    const int victim = choice_->next();
    if (!is_outside(victim)) return victim;
  }
  return -1;
}

trace::steal_result thief::steal(trace::stolen& got) {
  objects_.collect();
  if (choice_->none()) return trace::steal_result::empty;
  ends_what_was_taken();
  of_part_ = false;
  const reach may = own_part_.reach(arch::now_ns);
  const int victim = next_victim(may);
  if (victim < 0) return trace::steal_result::empty;
  const bool outside = may != reach::all && is_outside(victim);
  const std::uint64_t begin_ns = arch::now_ns();
  const std::uint64_t trips = net_->round_trips();
  got.image = &region_.incoming();
  got.insists = sleeps_;
  got.no_parts = outside;
  if (trace::tracing != nullptr) trace::tracing->steal_begins(begin_ns);
  const trace::steal_result result = deque_->steal(victim, got);
  lookout_.tried();
  got.victim = victim;
  switch (result) {
    case trace::steal_result::context:
      found_work(got);
      ++counts_.contexts_stolen;
      break;
    case trace::steal_result::taken:
      found_work(got);
      ++counts_.steals_ok;
      counts_.steal_ns += arch::now_ns() - begin_ns;
      counts_.steal_round_trips += net_->round_trips() - std::max(trips, got.trips_before);
      counts_.stolen_bytes += got.base - got.sp;
      return result;
    case trace::steal_result::empty:
      choice_->in_vain();
      if (got.no_parts && got.of_part) own_part_.met_part(arch::now_ns());
      [[fallthrough]];
    case trace::steal_result::lost_race:
      ++counts_.steals_failed;
      break;
  }
  if (trace::tracing != nullptr) trace::tracing->steal_ends(victim, result, trace::tracer::now(), got);
  return result;
}

// Where one was, there may be more; and what has come from another node is soon divided here.
void thief::found_work(const trace::stolen& got) noexcept {
  if (sleeps_) sleepers_.call(1);
  sleeps_ = false;
  sights_.tell(got.victim);
  still_.took();
  of_part_ = got.of_part;
  if (of_part_ && is_far(got.victim)) own_part_.took(arch::now_ns(), fences_.waited_ns());
}

void thief::ends_what_was_taken() noexcept {
  if (own_part_.has_taken()) own_part_.did(arch::now_ns(), fences_.waited_ns());
}

bool thief::part_begins(const surroundings& around) noexcept {
  const bool was = of_part_;
  ends_what_was_taken();
  around_ = around;
  own_part_.begins(arch::now_ns(), around.near, around.far);
  show_part(true);
  return was;
}
void thief::part_ends(bool inside) noexcept {
  own_part_.ends(arch::now_ns());
  show_part(inside);
}

// Relaxed: a hint, and this thread alone writes the word.
void thief::show_part(bool runs) noexcept {
  of_part_ = runs;
  const std::atomic_ref busy(window_->busy);
  const std::uint64_t task = busy.load(std::memory_order_relaxed) & ~deque::runs_part;
  if (task != 0) busy.store(runs ? task | deque::runs_part : task, std::memory_order_relaxed);
}

void thief::count_phases(const trace::stolen& got) noexcept {
  for (std::size_t i = 0; i < steal_phases; ++i) counts_.steal_cycles[i] += got.cycles[i];
  if (trace::tracing != nullptr)
    trace::tracing->steal_ends(got.victim, trace::steal_result::taken, trace::tracer::now(), got);
}

}  // namespace tobi::sched
