// SPDX-License-Identifier: Apache-2.0
// How much there is to do in a program, and how long its longest path is: work and span, while it runs in the order of
// its serial elision.
//
// A strand is what a task does between two forks, joins or ends. The strands, with an edge from each to what must come
// behind it, are a graph without circles. The work is the sum of all strands, the span the longest path. No number of
// workers is faster than the span, and the work divided by the number of workers is the other bound (Brent 1974). Paths
// need no graph in memory: each moment has the length of the longest path to it. A fork gives it to the child and keeps
// it for the parent, a join takes the longer one of its two, as Cilkview does ("The Cilkview scalability analyzer",
// SPAA 2010).
//
// Where a thief takes the continuation of a fork, it and the join behind it cost a steal each. The burdened span is the
// longest path on which every fork and every join does. It grows with the cost of a steal along a convex curve (it is a
// maximum of straight lines), so that it is measured for a few costs, and a chord between two of these is above it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "libcore/trace/lost_core.hpp"

namespace tobi::trace {

/// The costs of a steal for which there is a burdened span: in a node, over a fast network, over sockets.
inline constexpr std::array<std::uint64_t, 3> burdens_ns{2'000, 20'000, 200'000};

/// The longest path to a moment, in cycles of the core's counter. What the measurement costs is taken off by its mean,
/// so a short path may be negative.
struct longest_path {
  std::int64_t span = 0;
  std::uint64_t forks = 0;  // on it
  std::array<std::int64_t, burdens_ns.size()> burdened{};

  void lengthen(std::int64_t by) noexcept {
    span += by;
    for (std::int64_t& b : burdened) b += by;
  }
  /// What OTHER is comes behind it.
  void follows(const longest_path& other) noexcept {
    span += other.span;
    forks += other.forks;
    for (std::size_t i = 0; i < burdened.size(); ++i) burdened[i] += other.burdened[i];
  }
  void be_at_least(const longest_path& other) noexcept {
    if (other.span > span) {
      span = other.span;
      forks = other.forks;
    }
    for (std::size_t i = 0; i < burdened.size(); ++i) burdened[i] = std::max(burdened[i], other.burdened[i]);
  }
};

/// What a run was, or all runs of a program together: they follow each other.
struct work_and_span {
  std::uint64_t forks = 0;
  std::int64_t work = 0;
  std::int64_t taken_off = 0;  // of the work, as the cost of the measurement
  longest_path path;
};

struct measured_program {
  static constexpr std::size_t most_runs = 1000;
  std::uint64_t runs = 0;
  work_and_span all;
  std::vector<work_and_span> first;  // the first most_runs
  std::int64_t in_runs = 0;          // by the clock that never stands still
  std::uint64_t interruptions = 0;   // by others that got the core meanwhile
};

/// Follows one run. Times are readings of the core's counter. It stands still between stop() and start(), in which the
/// runtime does what it would not do in a program that nobody measures.
class span_clock {
 public:
  using burdens = std::array<std::int64_t, burdens_ns.size()>;
  /// In cycles: a steal's costs.
  explicit span_clock(const burdens& steal) noexcept : steal_(steal) {}
  /// What a fork, its child's end and the join leave in strands that is not the program's. Half of it is the child's.
  void costs(std::int64_t per_fork) noexcept {
    per_fork_ = per_fork - per_fork / 2;
    per_child_ = per_fork / 2;
  }

  void run_begins(std::uint64_t now) noexcept {
    run_ = {};
    began_ = now;
    since_ = now;
    start(now);
  }
  void run_ends(std::uint64_t now, measured_program& into) {
    stop(now);
    ++into.runs;
    into.in_runs += static_cast<std::int64_t>(now - began_);
    into.all.forks += run_.forks;
    into.all.work += run_.work;
    into.all.taken_off += run_.taken_off;
    into.all.path.follows(run_.path);
    if (into.first.size() < measured_program::most_runs) into.first.push_back(run_);
  }

  /// Returns whether it was not still already.
  bool stop(std::uint64_t now) noexcept {
    if (!goes_) return false;
    goes_ = false;
    const auto strand = static_cast<std::int64_t>(now - since_);
    add(strand > long_ ? less_what_was_lost(strand) : strand);
    since_ = now;
    return true;
  }
  void start(std::uint64_t now) noexcept {
    if (static_cast<std::int64_t>(now - since_) > long_) {
      core_->lost_ns();  // in no strand, and what is lost while it is asked for is in none either
      now = arch::cycles();
    }
    since_ = now;
    goes_ = true;
  }
  /// Time that CORE says others have taken from a strand of more than LONG_STRAND cycles is not the strand's.
  void watch(lost_core& core, std::int64_t long_strand) noexcept {
    core_ = &core;
    long_ = long_strand;
  }

  /// The clock has stopped in the parent, whose child begins. Returns where the parent is.
  longest_path forks() noexcept {
    take_off(per_fork_);
    ++run_.forks;
    ++run_.path.forks;
    return run_.path;
  }
  /// The clock has stopped in the child.
  void child_ends() noexcept { take_off(per_child_); }
  /// FORKED is what forks() has returned.
  void parent_goes_on(const longest_path& forked) noexcept {
    run_.path = forked;
    for (std::size_t i = 0; i < steal_.size(); ++i) run_.path.burdened[i] += steal_[i];
  }
  /// The running task goes on behind what was at ENDED when it ended.
  void joins(const longest_path& ended) noexcept {
    longest_path other = ended;
    for (std::size_t i = 0; i < steal_.size(); ++i) other.burdened[i] += steal_[i];
    run_.path.be_at_least(other);
  }

  [[nodiscard]] const longest_path& path() const noexcept { return run_.path; }

 private:
  void add(std::int64_t cycles) noexcept {
    run_.work += cycles;
    run_.path.lengthen(cycles);
  }

  std::int64_t less_what_was_lost(std::int64_t strand) noexcept {
    const auto lost = static_cast<std::int64_t>(static_cast<double>(core_->lost_ns()) / arch::ns_per_cycle());
    return strand - std::min(strand, lost);
  }
  void take_off(std::int64_t cycles) noexcept {
    add(-cycles);
    run_.taken_off += cycles;
  }

  burdens steal_;
  std::int64_t per_fork_ = 0;
  std::int64_t per_child_ = 0;
  std::uint64_t since_ = 0;  // the clock goes, or stands still, since then
  bool goes_ = false;
  std::uint64_t began_ = 0;  // of the run
  lost_core* core_ = nullptr;
  std::int64_t long_ = std::numeric_limits<std::int64_t>::max();  // else there is a core_
  work_and_span run_;
};

/// Of the run that is being measured, or null.
inline constinit span_clock* measuring = nullptr;

/// The runtime is at work that nobody would do in a program that is not measured, for as long as it lives.
class not_measured {
 public:
  not_measured() noexcept : went_(measuring != nullptr && measuring->stop(arch::cycles())) {}
  ~not_measured() {
    if (went_) [[unlikely]] {
      measuring->start(arch::cycles());
    }
  }
  not_measured(const not_measured&) = delete;
  not_measured& operator=(const not_measured&) = delete;

 private:
  bool went_;
};

}  // namespace tobi::trace
