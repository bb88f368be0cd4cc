// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/child.hpp"

#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/sched/presence.hpp"
#include "libcore/sched/thief.hpp"
#include "libcore/task/door.hpp"
#include "libcore/task/poller.hpp"
#include "libcore/task/records.hpp"
#include "libcore/task/region.hpp"
#include "libcore/task/scopes.hpp"
#include "libcore/task/task_results.hpp"

namespace tobi::sched {

namespace {

const std::uint64_t always_rings = 1;

// What tobi_fork calls in the child's place.
detail::registers2 nothing(std::uint64_t, detail::handle*, const detail::task_type*, std::uint64_t, std::uint64_t,
                           std::uint64_t) {
  return {0, 0};
}
constexpr detail::task_type not_now{&nothing, 0, 0, 0};

constexpr std::size_t whole_units(std::size_t bytes) noexcept {
  return (bytes + deque::entry_unit - 1) / deque::entry_unit * deque::entry_unit;
}

}  // namespace

sched_child::sched_child(services& shared) noexcept : scheduler(shared) {
  no_entries();
  tobi_hot.doorbell = &always_rings;
  tobi_hot.split_sp = std::numeric_limits<std::uintptr_t>::max();  // no return is slow
}

void sched_child::replace_child(std::uint64_t* words) noexcept { words[4] = reinterpret_cast<std::uint64_t>(&not_now); }

void sched_child::forked(std::uintptr_t sp, std::uint64_t* words) noexcept {
  auto* h = static_cast<detail::handle*>(reinterpret_cast<const arch::saved_frame*>(sp)->handle);
  const auto* type = reinterpret_cast<const detail::task_type*>(words[4]);
  replace_child(words);

  deque::deque& queue = *s_.work;
  // While a thief still copies the last one, new ones go below those that are gone.
  if (std::exchange(emptied_, false) && queue.quiet()) {
    queue.reset(s_.region.high(), 0);
  }
  const std::size_t bytes = whole_units(sizeof(descriptor) + type->closure_bytes);
  const auto low = s_.region.low();
  // Not the region's very first byte: with 128 MB an entry cannot say so far an offset (window.hpp).
  if (queue.task_base() - low <= bytes) {
    make_room();
    if (queue.task_base() - low <= bytes) {
      base::fatal("the queue of children that have not begun is full: " + base::format_size(s_.region.bytes()) +
                  "; raise TOBI_STACK_SIZE (at most 128M) or spawn fewer before they are joined.");
    }
  }
  const std::uintptr_t at = queue.task_base() - bytes;
  const bool of_future = h == nullptr;
  auto* child = new (reinterpret_cast<void*>(at))
      descriptor{{},   of_future ? 0 : s_.records.need(),        s_.scopes.now(),
                 type, {words[0], words[1], words[2], words[3]}, of_future || running_.marked ? 1u : 0u,
                 0};
  if (type->closure_bytes != 0) {
    std::memcpy(child + 1, reinterpret_cast<const void*>(words[0]), type->closure_bytes);
    child->words[0] = at + sizeof(descriptor);
  }
  if (h != nullptr) h->record = child->record;
  *deque_state_.bottom++ = at;
  queue.forked();
}

// Entries that were stolen keep their place until the deque is empty. Where that is so the region is free again.
void sched_child::make_room() noexcept {
  deque::deque& queue = *s_.work;
  if (queue.at_base()) return;
  const bool any = queue.pop(queue.task_base()) || queue.take_older() != 0;
  if (any) queue.push_again();
  for (unsigned spins = 0; !queue.quiet();) s_.net->wait(spins);
  if (any) return;
  queue.reset(s_.region.high(), 0);
  emptied_ = false;
}

bool sched_child::pop(descriptor& child) {
  s_.poller.keep_moving();
  deque::deque& queue = *s_.work;
  if (emptied_ || queue.at_base()) return false;
  // A worker whose tasks do not fork is asked for work here.
  if (s_.presence.asked_for_work()) queue.serve(deque::server::owner);
  std::uintptr_t at = queue.task_base();
  if (!queue.pop(at)) {
    at = queue.take_older();
    if (at == 0) {
      emptied_ = true;
      return false;
    }
    // C2: what lay below it was taken, and new ones will be pushed over that.
    for (unsigned spins = 0; !queue.quiet();) s_.net->wait(spins);
  }
  child = *reinterpret_cast<const descriptor*>(at);
  return true;
}

bool sched_child::steal(descriptor& child) {
  deque::deque& queue = *s_.work;
  // C2: a thief that took a descriptor of ours may still be copying it, and the copy of another's would lie there.
  if (!queue.quiet()) {
    s_.net->transport().progress();
    return false;
  }
  queue.reset(s_.region.high(), 0);
  emptied_ = false;
  trace::stolen got;
  if (s_.thief.steal(got) != trace::steal_result::taken) return false;
  child = *reinterpret_cast<const descriptor*>(got.sp);
  s_.thief.count_phases(got);
  s_.thief.acquire(got);
  child.stolen = 1;
  return true;
}

void sched_child::execute(const descriptor& child) {
  const running before = running_;
  const tasks::scopes around = s_.scopes;
  s_.scopes.entered(child.finish);
  running_ = {before.marked || child.marked != 0, child.stolen != 0 || child.record == 0};
  tasks::the_door.step_out();
  const auto r = child.type->run(child.words[0], nullptr, child.type, child.words[1], child.words[2], child.words[3]);
  tasks::the_door.step_in();
  s_.results.complete(child.record, r.a, r.b);
  running_ = before;
  s_.scopes = around;
}

// CLUSTER 2022, figure 3. A child that its own parent popped is not timed: nobody can wait for it but that parent.
void sched_child::conclude(net::location where, tasks::record& made) noexcept {
  if (running_.timed) made.done_ns = arch::now_ns();
  s_.records.put_done(where, made);
}

}  // namespace tobi::sched
