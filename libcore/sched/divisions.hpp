// SPDX-License-Identifier: Apache-2.0
// TOBI_SCHED=adws: the range of workers of the code that this worker runs, and what loops that begin here have learned
// (tobi/detail/division.hpp and divide.hpp, which have the rest). Every other scheduler has no ranges.
//
// A range is a hint. It decides where a pattern's parts begin, and never what they compute, so nothing here is
// synchronized with anybody: each worker reads and writes its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "libcore/base/per_rank.hpp"
#include "libcore/deque/deque.hpp"
#include "libcore/sched/learned_shares.hpp"
#include "libcore/sched/numbering.hpp"
#include "libcore/sched/parts.hpp"
#include "libcore/sched/presence.hpp"
#include "libcore/sched/thief.hpp"
#include "libcore/sched/travel.hpp"
#include "tobi/detail/division.hpp"
#include "tobi/statistics.hpp"

namespace tobi::sched {

class divisions {
 public:
  divisions(travel& journeys, thief& of_others, presence& of_here) noexcept
      : travel_(journeys), thief_(of_others), presence_(of_here) {}
  /// COUNTS: of this worker.
  void start(const worker_parts& parts, bool divides, const numbering& workers, const deque::deque& work,
             const statistics& counts);
  void stop() noexcept;

  /// The root begins: it has all workers.
  void root_begins() noexcept;
  /// Another task does, or goes on: nothing is known of it.
  void none() noexcept { detail::tobi_divides = 0; }

  /// A fork is on its slow path. Returns whether it is one of those that sends() told of: neither this worker nor its
  /// attendant shows an entry of the deque until the child has left, which it does at once.
  bool is_sent() noexcept;

  // --- called from tasks: see tobi/detail/division.hpp -----------------------------------------------------
  [[nodiscard]] detail::division current() const noexcept {
    return detail::tobi_divides == 0 ? detail::division{} : current_;
  }
  void set(const detail::division& range) noexcept;
  bool sends(const detail::division& range, const detail::division& there) noexcept;
  void go(const detail::division& range);
  bool begins(const detail::division& range) noexcept { return thief_.share_begins(range); }
  [[nodiscard]] detail::watched_work watch() const noexcept;
  int recall(const detail::division& range, const void* loop, std::size_t n, detail::loop_loads& loads) const noexcept;
  void learn(const detail::division& range, const void* loop, std::size_t n, const detail::loop_seen& seen) noexcept;

 private:
  struct name {
    const void* loop;
    std::size_t n;
    std::uint32_t first;
    bool operator==(const name&) const = default;
  };
  struct hash {
    std::size_t operator()(const name& of) const noexcept;
  };

  void no_fork_sends() noexcept;

  travel& travel_;
  thief& thief_;
  presence& presence_;
  const base::per_rank<int>* nodes_ = nullptr;
  const numbering* workers_ = nullptr;
  const deque::deque* deque_ = nullptr;
  const statistics* counts_ = nullptr;
  bool divides_ = false;
  bool may_stay_ = false;  // what has forked
  bool sends_ = false;     // the next fork's child leaves
  detail::division current_;
  std::unordered_map<name, learned_shares, hash> loops_;
};

/// In a task that may leave its worker and go on elsewhere: its code has the same range when this ends. THERE is at one
/// address in every process.
class division_kept {
 public:
  explicit division_kept(divisions& there) noexcept : there_(there), range_(there.current()) {}
  ~division_kept() { there_.set(range_); }
  division_kept(const division_kept&) = delete;
  division_kept& operator=(const division_kept&) = delete;

 private:
  divisions& there_;
  detail::division range_;
};

}  // namespace tobi::sched
