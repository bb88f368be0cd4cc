// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/divisions.hpp"

#include <ctime>
#include <functional>
#include <new>
#include <utility>

constinit std::uint32_t tobi::detail::tobi_divides = 0;

namespace tobi::sched {

namespace {
// A loop is dealt out by a message per worker, which follow one another along a tree. What takes less than that by
// itself is left to the worker that has it, and to those that steal of it.
constexpr double least_ns_in_a_node = 20'000;
constexpr double least_ns_between_nodes = 400'000;
// Loops whose loads are kept. A program has some ten; one that makes more begins anew.
constexpr std::size_t most_loops = 1024;
}  // namespace

std::size_t divisions::hash::operator()(const name& of) const noexcept {
  const std::size_t mixed = std::hash<const void*>()(of.loop) * 31 + of.n;
  return mixed * 31 + of.first;
}

void divisions::start(const worker_parts& parts, bool divides, const numbering& workers, const deque::deque& work,
                      const statistics& counts) {
  deque_ = &work;
  counts_ = &counts;
  nodes_ = parts.nodes;
  workers_ = &workers;
  divides_ = divides && workers.count() > 1;
  // The THE deque shows each entry, and TOBI_DEBUG_MIGRATE takes each away.
  may_stay_ = !parts.debug_migrate && !parts.use_the;
  no_fork_sends();
  none();
}

void divisions::stop() noexcept {
  none();
  loops_.clear();
}

void divisions::root_begins() noexcept {
  if (!divides_) return;
  detail::division all;
  all.last = workers_->count();
  set(all);
}

// Also on the way of an exception that was thrown before the child began.
void divisions::set(const detail::division& range) noexcept {
  no_fork_sends();
  detail::tobi_divides = divides_ && range.spans() ? 1 : 0;
  if (detail::tobi_divides != 0) current_ = range;
}

bool divisions::is_sent() noexcept {
  if (!sends_) presence_.keeps_entries(false);
  return std::exchange(sends_, false);
}

void divisions::no_fork_sends() noexcept {
  sends_ = false;
  presence_.keeps_entries(false);
}

bool divisions::sends(const detail::division& range, const detail::division& there) noexcept {
  const int here = travel_.here();
  sends_ = may_stay_ && workers_->rank_of(there.begins_at()) != here;
  presence_.keeps_entries(sends_);
  return workers_->rank_of(range.begins_at()) == here;
}

void divisions::go(const detail::division& range) {
  no_fork_sends();
  const int rank = workers_->rank_of(range.begins_at());
  if (rank != travel_.here()) travel_.deal_to(rank);
}

detail::watched_work divisions::watch() const noexcept {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  const deque::deque::counters shown = deque_->counts();
  const std::uint64_t moved =
      shown.published - shown.taken_back + counts_->steals_ok + counts_->contexts_stolen + counts_->outstanding_joins;
  return {static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec), moved};
}

int divisions::recall(const detail::division& range, const void* loop, std::size_t n,
                      detail::loop_loads& loads) const noexcept {
  const auto found = loops_.find({loop, n, range.begins_at()});
  if (found == loops_.end()) return 0;
  loads = found->second.shares();
  const detail::division::group workers = range.workers();
  const bool one_node = (*nodes_)[workers_->rank_of(workers.first)] == (*nodes_)[workers_->rank_of(workers.last - 1)];
  return loads.total() < (one_node ? least_ns_in_a_node : least_ns_between_nodes) ? -1 : 1;
}

void divisions::learn(const detail::division& range, const void* loop, std::size_t n,
                      const detail::loop_seen& seen) noexcept {
  if (!(seen.loads.total() > 0)) return;
  try {
    if (loops_.size() >= most_loops) loops_.clear();
    loops_[{loop, n, range.begins_at()}].took(seen, range.last - range.first);
  } catch (const std::bad_alloc&) {
    // Nothing is learned, then.
  }
}

}  // namespace tobi::sched
