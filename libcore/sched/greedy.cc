// SPDX-License-Identifier: Apache-2.0
// The greedy join: CLUSTER 2022, figure 4. record.hpp says how one atomic per side does it.
#include <cstddef>
#include <vector>

#include "arch/clock.hpp"
#include "libcore/deque/image.hpp"
#include "libcore/sched/continuation.hpp"
#include "libcore/sched/presence.hpp"
#include "libcore/task/finish_counts.hpp"
#include "libcore/task/records.hpp"
#include "libcore/task/shared_objects.hpp"
#include "libcore/trace/trace.hpp"

namespace tobi::sched {

// Puts the image among the waiters of the record.
bool sched_greedy::park(std::uint64_t where, std::uint64_t record) {
  const net::location word{record};
  auto* mine = static_cast<deque::image*>(s_.net->local(net::location{where}));
  const auto read = [this](std::uint64_t of, deque::waiter_links& links) {
    const net::location at{net::location{of}.rank(), net::location{of}.offset() + offsetof(deque::image, before)};
    if (!s_.net->heaps().can_be(at, sizeof links)) return false;
    s_.net->get(at, &links, sizeof links);
    return true;
  };
  std::uint64_t seen = 0;
  for (;;) {
    mine->before = deque::links_before(seen, read);
    const std::uint64_t found = s_.net->compare_swap(word, seen, where);
    if (found == seen) return true;
    if (tasks::is_done(found)) return false;
    seen = found;
  }
}

void sched_greedy::conclude(net::location at, tasks::record& made) noexcept {
  made.done_ns = arch::now_ns();
  const std::uint64_t found = s_.records.add_done(at, made);
  if (tasks::is_done(found)) tasks::set_twice(made.serial, at.rank());
  if (found != 0) wake(at, found);
}

// What a completed record has found waiting in it is this worker's.
void sched_greedy::wake(net::location record, std::uint64_t waiters) {
  if ((waiters & tasks::waiter_is_finish) != 0) {
    s_.objects.free(record);
    s_.finishes.strand_ended(waiters & ~deque::location_tags);
    return;
  }
  // When the completing task has died the scheduler lets the first one go on at once and shows the others to thieves; a
  // task that goes on itself shows them all (show_awakened).
  if (trace::tracing != nullptr) trace_ready(waiters);
  s_.presence.ready().push(waiters);
}

// For the tracer alone: each task of the list can go on now.
void sched_greedy::trace_ready(std::uint64_t waiters) {
  std::vector<std::uint64_t> lists{waiters};
  while (!lists.empty()) {
    const std::uint64_t list = lists.back();
    const net::location where{list & ~deque::location_tags};
    lists.pop_back();
    trace::tracing->ready(where.word);
    deque::waiter_links before{};
    s_.net->get({where.rank(), where.offset() + offsetof(deque::image, before)}, &before, sizeof before);
    for (const std::uint64_t rest : before.rest(list)) {
      if (rest != 0) lists.push_back(rest);
    }
  }
}

}  // namespace tobi::sched
